"""Make a RadGraph model of random weights, in the format of the published ones.

python tiny_radgraph.py FOLDER [WORDS], in an environment with `radgraph`, or with RadEval, which holds a copy
of it. FOLDER is named after the type of the model and gets config.json, weights.th and vocabulary. Its
encoder is ``tiny/encoder`` in the same folder: a BERT of two layers over a few words and letters; or, where
WORDS is a file of words, one over these of the published models' size, below heads of theirs.
"""

import json
import os
import string
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

import torch
from transformers import BertConfig, BertTokenizerFast

if find_spec("radgraph"):
    PACKAGE = "radgraph"
else:
    sys.modules["RadEval"] = import_module("radeval")  # the name by which the copy imports itself
    PACKAGE = "RadEval.metrics.radgraph._vendor"
radgraph = import_module(PACKAGE)
DyGIE = import_module(f"{PACKAGE}.dygie.models.dygie").DyGIE

WORDS = [
    "no",
    "the",
    "is",
    "of",
    "small",
    "left",
    "lung",
    "lungs",
    "heart",
    "effusion",
    "edema",
    "clear",
    ".",
    ",",
]
PIECES = [*string.ascii_lowercase, *string.digits]
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
LENGTH = 64  # shorter than some reports of the test, which the package then folds
SPAN, FEATURES, WIDTH = 3, 8, 16
if len(sys.argv) > 2:
    WORDS, SMALL, LENGTH = Path(sys.argv[2]).read_text().split(), {}, 512  # BERT's own size
    SPAN, FEATURES, WIDTH = 12, 20, 600

folder = Path(sys.argv[1]).absolute()
encoder = folder / "tiny" / "encoder"
encoder.mkdir(parents=True)
tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *PIECES, *(f"##{piece}" for piece in PIECES)]
(encoder / "vocab.txt").write_text("\n".join(tokens) + "\n")
BertTokenizerFast(str(encoder / "vocab.txt"), do_lower_case=True).save_pretrained(encoder)
BertConfig(vocab_size=len(tokens), max_position_embeddings=LENGTH, **SMALL).save_pretrained(encoder)

vocabulary = folder / "vocabulary"
vocabulary.mkdir()
(vocabulary / "non_padded_namespaces.txt").write_text("*tags\n*labels\n")
labels = [
    "",
    "Anatomy::definitely present",
    "Observation::definitely present",
    "Observation::definitely absent",
]
(vocabulary / f"{folder.name}__ner_labels.txt").write_text("\n".join(labels) + "\n")
(vocabulary / f"{folder.name}__relation_labels.txt").write_text("modify\nlocated_at\nsuggestive_of\n")

bert = {"type": "pretrained_transformer_mismatched", "model_name": "tiny/encoder", "max_length": LENGTH}
config = {
    "dataset_reader": {"type": "dygie", "max_span_width": SPAN, "token_indexers": {"bert": bert}},
    "model": {
        "type": "dygie",
        "embedder": {"token_embedders": {"bert": bert}},
        "initializer": {},
        "module_initializer": {},
        "feature_size": FEATURES,
        "max_span_width": SPAN,
        "target_task": "relation",
        "feedforward_params": {"num_layers": 2, "hidden_dims": WIDTH, "dropout": 0.4},
        "loss_weights": {"ner": 0.2, "relation": 1.0, "coref": 0.0, "events": 0.0},
        "modules": {
            "ner": {},
            "relation": {"spans_per_word": 0.5},
            "coref": {"spans_per_word": 0.3, "max_antecedents": 100},
            "events": {
                "trigger_spans_per_word": 0.3,
                "argument_spans_per_word": 0.8,
                "loss_weights": {"trigger": 0.2, "arguments": 1.0},
            },
        },
    },
}
(folder / "config.json").write_text(json.dumps(config))

os.chdir(folder)  # where the encoder's name is a path
torch.manual_seed(0)
with mock.patch("torch.load"), mock.patch.object(DyGIE, "load_state_dict"):
    model = radgraph.RadGraph(model_type=folder.name, model_cache_dir=str(folder.parent), cuda=-1)
for module in (model.model._ner, model.model._relation):
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.5)  # large enough for entities and relations of every kind
torch.save(model.model.state_dict(), folder / "weights.th")
(vocabulary / ".lock").unlink()
