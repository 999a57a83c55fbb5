"""A CheXbert on disk: the checkpoint as it was published, its vocabulary, and its sizes where they differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import torch
from transformers import BertConfig, BertTokenizer

from radrl.labelers.chexbert import checkpoint
from radrl.labelers.chexbert.checkpoint import CheckpointError
from radrl.labelers.chexbert.model import CheXbert
from radrl.labelers.chexbert.text import build_tokenizer

WEIGHTS: Final = "chexbert.pth"
VOCABULARY: Final = "vocab.txt"
CONFIG: Final = "config.json"

SIZES: Final = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "hidden_act",
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "max_position_embeddings",
    "type_vocab_size",
    "initializer_range",
    "layer_norm_eps",
    "pad_token_id",
)
"""What of a BertConfig makes a BERT; nothing else of config.json is read or written."""


def load(folder: Path, *, device: str | torch.device = "cpu") -> tuple[CheXbert, BertTokenizer]:
    """Load a CheXbert.

    Args:
        folder: holds `WEIGHTS` (the published file, or one that `save` wrote), `VOCABULARY` (for the
            published one that of bert-base-uncased) and, unless its sizes are those of bert-base-uncased,
            `CONFIG`. Or a checkpoint file of any name, with the others beside it.
        device: where the model goes.

    Returns:
        The model in evaluation mode, in single precision, and its tokenizer.

    Raises:
        FileNotFoundError: a file is missing.
        CheckpointError: a file is something else; the message says what it is and what was expected.
    """
    weights, vocabulary, config = _files(folder)
    tokenizer = _tokenizer(vocabulary)
    sizes, sizes_from = _config(config)
    state = checkpoint.read(weights)
    checkpoint.check(state, sizes, path=weights, sizes_from=sizes_from)
    if len(tokenizer) != sizes.vocab_size:
        raise CheckpointError(
            f"{vocabulary} has {len(tokenizer)} word pieces, {weights} has {sizes.vocab_size}: "
            "put the vocabulary there that the model was trained with (the published: bert-base-uncased's)"
        )
    with torch.random.fork_rng(devices=[]):  # random weights come first; who draws next must not notice
        model = CheXbert(sizes)
    model.load_state_dict(state)
    return model.to(device).eval(), tokenizer


def save(model: CheXbert, tokenizer: BertTokenizer, folder: Path) -> None:
    """Write a CheXbert as `load` reads it; the same weights give the same bytes.

    Args:
        model: what to write.
        tokenizer: of `build_tokenizer`.
        folder: where to; made if it is not there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    state = {
        checkpoint.PREFIX + name: weight.cpu().clone(memory_format=torch.contiguous_format)
        for name, weight in model.state_dict().items()
    }
    torch.save({checkpoint.STATE: state}, folder / WEIGHTS)
    pieces = tokenizer.get_vocab()
    text = "".join(f"{piece}\n" for piece in sorted(pieces, key=pieces.__getitem__))
    (folder / VOCABULARY).write_text(text, encoding="utf-8", newline="\n")
    sizes = {"model_type": "bert", **{name: getattr(model.bert.config, name) for name in SIZES}}
    (folder / CONFIG).write_text(json.dumps(sizes, indent=2) + "\n")


def _files(folder: Path) -> tuple[Path, Path, Path]:
    """Weights, vocabulary and config of a folder or of a checkpoint file."""
    weights = folder if folder.is_file() else folder / WEIGHTS
    if not weights.is_file():
        raise FileNotFoundError(
            f"no {WEIGHTS} in {folder}: put CheXbert's published checkpoint there (each user gets it from "
            "its authors, under their licence), or give the path of the file"
        )
    vocabulary = weights.parent / VOCABULARY
    if not vocabulary.is_file():
        raise FileNotFoundError(
            f"no {VOCABULARY} beside {weights}: put the model's word pieces there, one a line; those of the "
            "published CheXbert are bert-base-uncased's"
        )
    return weights, vocabulary, weights.parent / CONFIG


def _tokenizer(path: Path) -> BertTokenizer:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # word pieces may hold other line separators
    except UnicodeDecodeError:
        raise CheckpointError(f"{path} is no UTF-8 text; expected BERT's word pieces, one a line") from None
    try:
        return build_tokenizer(lines[:-1] if not lines[-1] else lines)
    except ValueError as error:
        raise CheckpointError(f"{path}: {error}; expected BERT's word pieces, one a line") from None


def _config(path: Path) -> tuple[BertConfig, str]:
    """A BERT's sizes, and where they come from."""
    if not path.is_file():
        return BertConfig(), f"bert-base-uncased: no {path} says otherwise"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        kind = content.get("model_type", "bert")
        if kind != "bert":
            raise CheckpointError(
                f"{path} says model_type {kind!r}; CheXbert is a 'bert': put its own config there"
            )
        sizes = BertConfig(**{name: content[name] for name in SIZES if name in content})
        with torch.device("meta"):  # no weights: whether these sizes make a BERT at all
            CheXbert(sizes)
        return sizes, str(path)
    except CheckpointError:
        raise
    except Exception as error:  # transformers checks types by a class of its own
        reason = str(error).splitlines()[0]
        raise CheckpointError(f"{path} is no BertConfig ({reason}); expected {', '.join(SIZES)}") from error
