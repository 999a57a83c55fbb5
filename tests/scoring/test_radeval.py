import json
import math
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from radrl.scoring import ScoringError
from radrl.scoring.nlg import nlg_scores
from radrl.scoring.radeval import NEEDS, REFUSED, RadEval

# Its metrics give what the hypotheses say, as numbers.
FAKE = {
    "radeval/__init__.py": "print('Loading')\n",
    "radeval/metrics/__init__.py": "",
    "radeval/metrics/_base.py": """
class MetricBase:
    def _compute_raw(self, refs, hyps, on_progress=None):
        raise NotImplementedError
    def compute(self, refs, hyps, per_sample=False, detailed=False, on_progress=None):
        raise AssertionError("one pass is enough")
""",
    "radeval/metrics/_registry.py": """
from radeval.metrics._base import MetricBase

class Raw(MetricBase):
    def _compute_raw(self, refs, hyps, on_progress=None):
        on_progress()
        values = [float(hyp) for hyp in hyps]
        aggregate = self.pool(values)
        return {self.key: {"aggregate": aggregate, "per_sample": values, "detailed": {}},
                "label_scores": {"aggregate": {"Edema": 1.0}, "per_sample": {"Edema": 1.0}}}
    def pool(self, values):
        return sum(values) / len(values)

class Rouge(Raw):
    key = "rougeL"

class Bleu(Raw):
    key = "bleu"
    def pool(self, values):
        return max(values)

class RadCliQ(Raw):
    key = "radcliq_v1"
    def pool(self, values):
        return len(values) / sum(values)

class CheXbert(MetricBase):
    def compute(self, refs, hyps, per_sample=False, detailed=False, on_progress=None):
        if per_sample:
            return {"f1chexbert_sample_acc_5": [float(hyp) for hyp in hyps][: len(set(hyps))]}
        assert detailed, "rounded"
        return {"f1chexbert_5_micro_f1": 0.123456, "f1chexbert_label_scores_f1": {"Edema": 0.1}}

def get_metric_class(name):
    return {"rouge": Rouge, "bleu": Bleu, "bertscore": RadCliQ, "f1radbert_ct": CheXbert}[name]
""",
    "radeval-2.2.1.dist-info/METADATA": "Metadata-Version: 2.1\nName: radeval\nVersion: 2.2.1\n",
}


@pytest.fixture
def fake(fake_package):
    """A `radeval` on the worker's path."""
    fake_package(FAKE)


@pytest.fixture
def models(tmp_path):
    """A folder with weights, to look at, of the fake's metrics."""
    for name in ("distilbert-base-uncased", "IAMJB/RadBERT-CT"):
        (tmp_path / "models" / name).mkdir(parents=True)
        (tmp_path / "models" / name / "model.safetensors").write_text(name)
    return tmp_path / "models"


def test_figures_under_radevals_names(fake):
    scores = RadEval(python=None, metrics=["rouge", "bleu"], models=None).score(["", ""], ["0.25", "0.75"])
    assert scores.corpus == {"radeval_rougel": 0.5, "radeval_bleu": 0.75}
    np.testing.assert_array_equal(scores.per_report["radeval_rougel"], [0.25, 0.75])
    np.testing.assert_array_equal(scores.per_report["radeval_bleu"], [0.25, 0.75])
    assert scores.summed.values() == {"radeval_rougel": 0.5}  # BLEU pools what it does not give away
    assert scores.about["radeval_version"] == "2.2.1"


def test_radcliqs_corpus_figure_is_the_reciprocal_of_the_mean(fake, models):
    scores = RadEval(python=None, metrics=["bertscore"], models=models).score(["", ""], ["1", "4"])
    assert scores.corpus == scores.summed.values() == {"radeval_radcliq_v1": pytest.approx(0.4)}
    resampled = scores.summed.of_sums(np.array([2.0, 0.0]) @ scores.summed.per_study)
    assert resampled["radeval_radcliq_v1"] == pytest.approx(1)  # the first report twice


def test_a_metric_that_replaces_compute_gives_both_kinds_unrounded(fake, models):
    scores = RadEval(python=None, metrics=["f1radbert_ct"], models=models).score(["", ""], ["0", "1"])
    assert scores.corpus == {
        "radeval_f1chexbert_5_micro_f1": 0.123456,
        "radeval_f1chexbert_sample_acc_5": 0.5,
    }
    np.testing.assert_array_equal(scores.per_report["radeval_f1chexbert_sample_acc_5"], [0, 1])


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_a_score_that_is_no_number_names_the_report(fake, value):
    with pytest.raises(ScoringError, match=f"report 1 has rougeL {value} by rouge"):
        RadEval(python=None, metrics=["rouge"], models=None).score(["", "", ""], ["1", value, "2"])


def test_values_for_some_reports_are_none_for_all(fake, models):
    with pytest.raises(ScoringError, match="f1radbert_ct gave 2 values of f1chexbert_sample_acc_5 for 3"):
        RadEval(python=None, metrics=["f1radbert_ct"], models=models).score([""] * 3, ["0", "1", "1"])


def test_a_failure_of_the_package_is_an_error(fake):
    with pytest.raises(ScoringError, match="ValueError: could not convert string to float: 'effusion'"):
        RadEval(python=None, metrics=["rouge"], models=None).score(["", ""], ["1", "effusion"])


def test_weights_are_recorded_without_what_a_download_leaves(fake, models):
    def about():
        return RadEval(python=None, metrics=["bertscore"], models=models).score(["a"], ["1"]).about

    first = about()
    notes = models / "distilbert-base-uncased" / ".cache" / "huggingface"
    notes.mkdir(parents=True)
    (notes / "model.safetensors.metadata").write_text("1763720000")
    assert about() == first
    (models / "distilbert-base-uncased" / "model.safetensors").write_text("others")
    key = "radeval_sha256_distilbert-base-uncased"
    assert about()[key] != first[key]


def test_an_unknown_metric_lists_the_valid_ones():
    with pytest.raises(ScoringError, match="no metric 'BLEURT'; there are bleu, rouge, bertscore"):
        RadEval(python=None, metrics=["bleu", "BLEURT"], models=None)
    with pytest.raises(ScoringError, match="no metric is named; there are bleu"):
        RadEval(python=None, metrics=[], models=None)


@pytest.mark.parametrize("metric", REFUSED)
def test_metrics_that_call_out_or_run_foreign_code_are_refused(metric):
    assert metric not in NEEDS
    with pytest.raises(ScoringError, match=f"{metric} is not to be had here: "):
        RadEval(python=None, metrics=[metric], models=None)


def test_missing_weights_are_named_with_the_mend(models):
    with pytest.raises(ScoringError, match=r"ratescore need weights, .*BioLORD-2023-C"):
        RadEval(python=None, metrics=["bleu", "ratescore"], models=None)
    with pytest.raises(
        ScoringError,
        match=r"not in .*models: bert-base-uncased \(for f1chexbert\), .*chexbert.pth.*`hf download",
    ):
        RadEval(python=None, metrics=["bertscore", "f1chexbert"], models=models)


def test_the_encoder_of_a_radgraph_model_is_a_weight_too(models):
    folder = models / "StanfordAIMI" / "RRG_scorers" / "radgraph-xl"
    folder.mkdir(parents=True)
    config = {"model": {"embedder": {"token_embedders": {"bert": {"model_name": "org/encoder"}}}}}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ScoringError, match=r"not in .*models: org/encoder \(for radgraph\)\. Mend"):
        RadEval(python=None, metrics=["radgraph"], models=models)


def test_settings_that_are_wrong(tmp_path):
    with pytest.raises(ScoringError, match="no interpreter at"):
        RadEval(python=tmp_path / "python", metrics=["bleu"], models=None)
    scorer = RadEval(python=None, metrics=["bleu"], models=None)
    with pytest.raises(ScoringError, match=r"no package `radeval` in .*make scorers"):
        scorer.score(["a"], ["a"])
    with pytest.raises(ValueError, match="1 references, 2 hypotheses"):
        scorer.score(["a"], ["a", "b"])
    with pytest.raises(ValueError, match="0 references"):
        scorer.score([], [])


PYTHON = os.environ.get("RADRL_RADEVAL_PYTHON")
needs_package = pytest.mark.skipif(PYTHON is None, reason="RADRL_RADEVAL_PYTHON names no interpreter")
REFERENCES = ["no acute process .", "the lungs are clear . no effusion .", "small right effusion ."]
HYPOTHESES = ["no acute change .", "the lungs are clear . small effusion .", "right effusion ."]
DISTILBERT = """
import string, sys, torch
from transformers import BertTokenizerFast, DistilBertConfig, DistilBertModel
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "no", "lungs", "clear", "effusion", ".", "a", "b"]
torch.manual_seed(0)
DistilBertModel(
    DistilBertConfig(vocab_size=len(words), dim=16, n_heads=2, n_layers=6, hidden_dim=32)
).save_pretrained(sys.argv[1])
vocabulary = {word: i for i, word in enumerate(words)}
BertTokenizerFast(vocab=vocabulary, model_max_length=512).save_pretrained(sys.argv[1])
"""


@needs_package
def test_the_package_scores_words():
    scores = RadEval(python=Path(PYTHON), metrics=["bleu", "rouge"], models=None).score(
        REFERENCES, HYPOTHESES
    )
    bleu = nlg_scores(REFERENCES, HYPOTHESES, meteor=False)  # RadEval's is pycocoevalcap's BLEU-4
    assert scores.corpus["radeval_bleu"] == pytest.approx(bleu.corpus["nlg_bleu4"], rel=1e-12)
    np.testing.assert_allclose(scores.per_report["radeval_bleu"], bleu.per_report["nlg_bleu4"], rtol=1e-12)
    # words without punctuation: 2 of 3 on both sides; 5 of 6; 2 of 2 said and 2 of 3 known, 2 * 2 / 5
    np.testing.assert_allclose(scores.per_report["radeval_rouge1"], [2 / 3, 5 / 6, 4 / 5])
    assert scores.corpus["radeval_rouge1"] == pytest.approx((2 / 3 + 5 / 6 + 4 / 5) / 3)
    assert scores.about["radeval_version"] == "2.2.1"


@needs_package
def test_the_package_scores_by_a_local_model(tmp_path):
    name = "distilbert-base-uncased"
    subprocess.run([PYTHON, "-c", DISTILBERT, tmp_path / name], check=True, capture_output=True)
    before = sorted(tmp_path.rglob("*"))
    scorer = RadEval(python=Path(PYTHON), metrics=["bertscore"], models=tmp_path)
    scores = scorer.score(REFERENCES, ["no effusion .", REFERENCES[1], ""])
    assert scores.per_report["radeval_bertscore"][1] == pytest.approx(1, abs=1e-5)
    assert scores.per_report["radeval_bertscore"][0] < 1
    assert math.isfinite(scores.corpus["radeval_bertscore"])
    assert scores.corpus["radeval_bertscore"] == pytest.approx(scores.per_report["radeval_bertscore"].mean())
    assert sorted(tmp_path.rglob("*")) == before


RADCLIQ = """
import sys, torch
from pathlib import Path
from tokenizers import pre_tokenizers
from transformers import BertConfig, BertModel, BertTokenizerFast
from transformers import RobertaConfig, RobertaModel, RobertaTokenizerFast

torch.manual_seed(0)
letters = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
vocabulary = {word: i for i, word in enumerate(letters)}
roberta = Path(sys.argv[1]) / "distilroberta-base"
RobertaModel(
    RobertaConfig(
        vocab_size=len(letters), hidden_size=16, num_attention_heads=2, num_hidden_layers=6,
        intermediate_size=32, max_position_embeddings=514,
    )
).save_pretrained(roberta)
RobertaTokenizerFast(vocab=vocabulary, merges=[], model_max_length=512).save_pretrained(roberta)

bert = Path(sys.argv[1]) / "bert-base-uncased"
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "no", "lungs", "clear", "effusion", ".", "right"]
config = BertConfig(
    vocab_size=len(words), hidden_size=16, num_attention_heads=2, num_hidden_layers=1, intermediate_size=32
)
config.save_pretrained(bert)
BertTokenizerFast(vocab={word: i for i, word in enumerate(words)}).save_pretrained(bert)
state = {f"module.bert.{name}": value for name, value in BertModel(config).state_dict().items()}
for head in range(14):
    classes = 2 if head == 13 else 4
    state[f"module.linear_heads.{head}.weight"] = torch.zeros(classes, 16)
    state[f"module.linear_heads.{head}.bias"] = torch.zeros(classes)
(Path(sys.argv[1]) / "StanfordAIMI" / "RRG_scorers").mkdir(parents=True)
torch.save({"model_state_dict": state}, Path(sys.argv[1]) / "StanfordAIMI" / "RRG_scorers" / "chexbert.pth")
"""


@pytest.fixture
def radcliq_models(tmp_path):
    """All that RadCliQ reads, of random weights."""
    subprocess.run([PYTHON, "-c", RADCLIQ, tmp_path], check=True, capture_output=True)
    folder = tmp_path / "StanfordAIMI" / "RRG_scorers" / "radgraph"
    script = Path(__file__).parent / "tiny_radgraph.py"
    subprocess.run([PYTHON, script, folder], check=True, capture_output=True)
    (folder / "tiny").rename(tmp_path / "tiny")
    return tmp_path


@needs_package
def test_rexranks_figures_are_radcliqs_parts(radcliq_models):
    metrics = ["rexrank", "radgraph_radcliq"]
    scores = RadEval(python=Path(PYTHON), metrics=metrics, models=radcliq_models).score(
        REFERENCES, ["No effusion .", REFERENCES[1], "the Heart ."]
    )
    found = {name.removeprefix("radeval_rexrank_"): values for name, values in scores.per_report.items()}
    np.testing.assert_allclose(found["radgraph"], scores.per_report["radeval_radgraph_radcliq"])
    same = [found[name][1] for name in ("bleu2", "bertscore", "sembscore", "radgraph")]
    np.testing.assert_allclose(same, 1, atol=1e-5)
    # 2 of 3 words, 0 of 2 pairs; and "Heart" counts as heart
    assert found["bleu2"][0] == pytest.approx(np.sqrt(2 / 3 * 1e-15 / 2), abs=1e-6)
    # the scales and weights that RadCliQ-v1 was published with
    means, scales = [0.53792312, 0.61757256, 0.76479421], [0.30282584, 0.22430938, 0.25394391]
    weights = [-0.377083683, -0.3703001, -0.252616218]
    parts = np.column_stack([found[name] for name in ("radgraph", "bertscore", "sembscore")])
    np.testing.assert_allclose(found["radcliq_v1"], (parts - means) / scales @ weights, atol=1e-6)
    assert scores.corpus["radeval_rexrank_radcliq_v1"] == pytest.approx(1 / found["radcliq_v1"].mean())
    assert scores.corpus["radeval_rexrank_bertscore"] == pytest.approx(found["bertscore"].mean())


@needs_package
def test_rexranks_bertscore_does_not_hang_on_the_other_references(radcliq_models):
    scorer = RadEval(python=Path(PYTHON), metrics=["rexrank"], models=radcliq_models)
    one = scorer.score(REFERENCES[:1], HYPOTHESES[:1]).per_report["radeval_rexrank_bertscore"]
    three = scorer.score(REFERENCES, HYPOTHESES).per_report["radeval_rexrank_bertscore"]
    assert three[0] == pytest.approx(one[0], abs=1e-5)


RADGRAPH_PYTHON = os.environ.get("RADRL_RADGRAPH_PYTHON")


@needs_package
@pytest.mark.skipif(RADGRAPH_PYTHON is None, reason="RADRL_RADGRAPH_PYTHON names no interpreter")
def test_its_radgraph_is_radgraphs(tmp_path):
    from radrl.scoring.radgraph import RadGraph

    folder = tmp_path / "StanfordAIMI" / "RRG_scorers" / "radgraph-xl"
    script = Path(__file__).parent / "tiny_radgraph.py"
    subprocess.run([RADGRAPH_PYTHON, script, folder], check=True, capture_output=True)
    (folder / "tiny").rename(tmp_path / "tiny")
    found = RadEval(python=Path(PYTHON), metrics=["radgraph"], models=tmp_path).score(REFERENCES, HYPOTHESES)
    (tmp_path / "tiny").rename(folder / "tiny")
    own = RadGraph(python=Path(RADGRAPH_PYTHON), model=folder).score(REFERENCES, HYPOTHESES)
    for level in ("simple", "partial", "complete"):
        assert found.corpus[f"radeval_radgraph_{level}"] == pytest.approx(own.corpus[f"radgraph_{level}"])
