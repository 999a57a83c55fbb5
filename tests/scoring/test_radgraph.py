import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from radrl.scoring import ScoringError
from radrl.scoring.radgraph import RadGraph, encoder_of

# Every word is an entity and modifies the next.
FAKE = {
    "radgraph/__init__.py": """
import os, sys
class RadGraph:
    def __init__(self, model_type, model_cache_dir):
        print("Using device: cpu")
        assert os.path.exists(os.path.join(model_cache_dir, model_type, "weights.th"))
        if "FAKE_REFUSES" in os.environ:
            raise OSError("no file named tokenizer.json")
        self.model_type = model_type
    def __call__(self, texts):
        (text,) = texts
        with open(os.environ["FAKE_LOG"], "a") as log:
            log.write(text + "\\n")
        if text == "crash":
            raise RuntimeError("out of memory")
        words = text.split()
        entities = {
            str(i): {
                "tokens": word,
                "label": "present",
                "relations": [["modify", str(i + 1)]] if i < len(words) else [],
            }
            for i, word in enumerate(words, start=1)
        }
        return {"0": {"entities": entities} if text != "odd" else {"entities": {"1": {"tokens": "odd"}}}}
""",
    "radgraph/utils.py": """
def preprocess_reports(texts, model_type):
    return [{"sentences": [text.replace("\\\\n", " ").split()]} for text in texts]
""",
    "radgraph/rewards.py": """
import os
def compute_reward(hypothesis, reference, level):
    same = str.lower if "FAKE_LOWERS" in os.environ else str
    found, truth = ({same(e["tokens"]) for e in g["entities"].values()} for g in (hypothesis, reference))
    return float(found == truth)
""",
    "radgraph/allennlp/data/vocabulary.py": "FileLock = None\n",
    "radgraph-0.1.18.dist-info/METADATA": "Metadata-Version: 2.1\nName: radgraph\nVersion: 0.1.18\n",
    "torch.py": "from contextlib import nullcontext as inference_mode\n",
}


@pytest.fixture
def fake(fake_package, tmp_path, monkeypatch):
    """A `radgraph` on the worker's path; the file it writes the texts it is asked about to."""
    fake_package(FAKE)
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))
    return tmp_path / "log"


@pytest.fixture
def folder(tmp_path):
    """A folder that looks like a RadGraph model."""
    folder = tmp_path / "radgraph-xl"
    (folder / "vocabulary").mkdir(parents=True)
    config = {"model": {"embedder": {"token_embedders": {"bert": {"model_name": "org/encoder"}}}}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "weights.th").write_text("weights")
    (folder / "vocabulary" / "labels.txt").write_text("present")
    return folder


def test_scores_by_hand(fake, folder):
    scores = RadGraph(python=None, model=folder).score(
        ["small effusion", "clear lungs", "no edema"], ["effusion", "clear lungs", ""]
    )
    # simple: {effusion} against {small, effusion}: 2 * 1 / 3. partial: both without an outgoing relation, the
    # same. complete: {effusion} against {small modify effusion, effusion}: the same. Nothing said: 0.
    for level in ("simple", "partial", "complete"):
        assert scores.per_report[f"radgraph_{level}"] == pytest.approx([2 / 3, 1, 0])
        assert scores.corpus[f"radgraph_{level}"] == pytest.approx(5 / 9)
    assert scores.summed.values() == scores.corpus


def test_each_text_is_annotated_once_and_a_blank_one_never(fake, folder):
    scorer = RadGraph(python=None, model=folder)
    scorer.score(["a b", "a b", "c"], ["c", " \n", "a b"])
    assert fake.read_text().splitlines() == ["a b", "c"]
    scorer.score(["a b", "c"], ["d", "c"])
    assert fake.read_text().splitlines() == ["a b", "c", "d"]


def test_reports_without_a_word_have_no_reward(fake, folder):
    scores = RadGraph(python=None, model=folder).score(["a", " "], ["\\n", ""])  # the first is two characters
    assert scores.corpus == {"radgraph_simple": 0, "radgraph_partial": 0, "radgraph_complete": 0}
    assert fake.read_text() == "a\n"


def test_the_packages_case_is_followed_and_recorded(fake, folder, monkeypatch):
    old = RadGraph(python=None, model=folder).score(["edema of lung"], ["edema OF lung"])
    monkeypatch.setenv("FAKE_LOWERS", "1")
    new = RadGraph(python=None, model=folder).score(["edema of lung"], ["edema OF lung"])
    assert old.about["radgraph_lower_case"] == "false"
    assert new.about["radgraph_lower_case"] == "true"
    assert old.corpus["radgraph_simple"] == pytest.approx(2 / 3)  # two of three words are spelled alike
    assert new.corpus["radgraph_simple"] == 1


def test_what_a_figure_depends_on(fake, folder):
    def about():
        return RadGraph(python=None, model=folder).score(["a"], ["a"]).about

    first = about()
    assert first["radgraph_version"] == "0.1.18"
    assert first["radgraph_model"] == "radgraph-xl"
    assert first["radgraph_levels"] == "simple, partial, complete"
    (folder / "vocabulary" / ".lock").write_text("")  # the package's own, of no consequence
    assert about() == first
    (folder / "weights.th").write_text("others")
    assert about()["radgraph_model_sha256"] != first["radgraph_model_sha256"]


def test_a_graph_that_is_none_names_the_report(fake, folder):
    with pytest.raises(ScoringError, match="report 1 has no RadGraph reward: no 'label'"):
        RadGraph(python=None, model=folder).score(["a", "b"], ["a", "odd"])


def test_a_crash_of_the_package_is_an_error(fake, folder):
    with pytest.raises(ScoringError, match="RuntimeError: out of memory"):
        RadGraph(python=None, model=folder).score(["a", "b"], ["a", "crash"])


def test_a_model_that_does_not_load_names_the_encoder(fake, folder, monkeypatch):
    monkeypatch.setenv("FAKE_REFUSES", "1")
    with pytest.raises(
        ScoringError, match=r"no file named tokenizer(.|\n)*org/encoder, in .*radgraph-xl/org/encoder"
    ):
        RadGraph(python=None, model=folder).score(["a"], ["a"])


def test_a_missing_package_is_named_with_the_mend(folder):
    with pytest.raises(ScoringError, match=r"no package `radgraph` in .*make scorers"):
        RadGraph(python=None, model=folder).score(["a"], ["a"])


def test_a_folder_without_a_model(folder):
    (folder / "weights.th").unlink()
    with pytest.raises(ScoringError, match=r"no RadGraph model in .*radgraph-xl: weights.th missing"):
        RadGraph(python=None, model=folder)


def test_a_folder_not_named_after_its_type(folder):
    with pytest.raises(ScoringError, match="must be named after its type of model: radgraph, radgraph-xl"):
        RadGraph(python=None, model=folder.rename(folder.parent / "model"))


def test_settings_that_are_wrong(folder, tmp_path):
    with pytest.raises(ScoringError, match="no interpreter at"):
        RadGraph(python=tmp_path / "python", model=folder)
    with pytest.raises(ValueError, match="batch_size is 0"):
        RadGraph(python=None, model=folder, batch_size=0)
    with pytest.raises(ValueError, match="1 references, 2 hypotheses"):
        RadGraph(python=None, model=folder).score(["a"], ["a", "b"])
    with pytest.raises(ValueError, match="0 references"):
        RadGraph(python=None, model=folder).score([], [])


def test_the_encoders_name(folder):
    assert encoder_of(folder) == "org/encoder"
    (folder / "config.json").write_text("{}")
    with pytest.raises(ScoringError, match="names no encoder"):
        encoder_of(folder)


PYTHON = os.environ.get("RADRL_RADGRAPH_PYTHON")
needs_package = pytest.mark.skipif(PYTHON is None, reason="RADRL_RADGRAPH_PYTHON names no interpreter")
TEXTS = [
    "No pleural effusion.",
    "Normal",
    "The heart is of normal size, and the left lung is clear.",
    "Small right effusion; edema of the lungs. " * 8,  # longer than the encoder
    "pleural EFFUSION",
    "Heart size normal. No edema, 2.5 cm nodule (left).",
]
PACKAGE = """
import json, os, sys
os.chdir(sys.argv[1])
import radgraph
from pathlib import Path
folder, (references, hypotheses) = Path.cwd(), json.load(sys.stdin)
f1 = radgraph.F1RadGraph(
    reward_level="all", model_type=folder.name, model_cache_dir=str(folder.parent), cuda=-1
)
_, rewards, hypothesis_graphs, _ = f1(refs=references, hyps=hypotheses)
sys.stdout = sys.__stdout__
print(json.dumps([rewards, [graph["entities"] for graph in hypothesis_graphs]]))
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "radgraph-xl"
    script = Path(__file__).parent / "tiny_radgraph.py"
    subprocess.run([PYTHON, script, folder], check=True, capture_output=True)
    return folder


@needs_package
@pytest.mark.parametrize("batch_size", [1, 4])
def test_the_packages_own_graphs_and_rewards(model, batch_size):
    references, hypotheses = TEXTS, [*TEXTS[1:], TEXTS[0]]
    run = subprocess.run(
        [PYTHON, "-c", PACKAGE, model],
        input=json.dumps([references, hypotheses]),
        capture_output=True,
        text=True,
        check=True,
    )
    rewards, entities = json.loads(run.stdout.splitlines()[-1])
    scorer = RadGraph(python=Path(PYTHON), model=model, batch_size=batch_size)
    assert [graph["entities"] for graph in scorer.graphs(hypotheses)] == entities
    assert sum(bool(entity["relations"]) for graph in entities for entity in graph.values()) > 20
    scores = scorer.score(references, hypotheses)
    got = [scores.per_report[f"radgraph_{level}"] for level in ("simple", "partial", "complete")]
    np.testing.assert_allclose(got, rewards, rtol=1e-12)
    assert 0 < scores.corpus["radgraph_complete"] < 1
    assert scores.about["radgraph_lower_case"] == "false"


@needs_package
@pytest.mark.parametrize("batch_size", [1, 4])
def test_texts_no_preparation_leaves_a_token_of(model, batch_size):
    scorer = RadGraph(python=Path(PYTHON), model=model, batch_size=batch_size)
    graphs = scorer.graphs(["\\n", "clear lungs", "clear \\n lungs", "\u200b", "...", "\x00"])
    assert graphs[0] == {"entities": {}}
    assert graphs[1]["entities"] == graphs[2]["entities"] != {}


@needs_package
def test_nothing_is_written_in_the_models_folder(model):
    before = {file: file.stat().st_mtime_ns for file in model.rglob("*")}
    RadGraph(python=Path(PYTHON), model=model).graphs(["clear lungs"])
    assert {file: file.stat().st_mtime_ns for file in model.rglob("*")} == before


@needs_package
def test_an_encoder_that_is_nowhere(model, tmp_path):
    folder = tmp_path / "radgraph-xl"
    folder.mkdir()
    for name in ("weights.th", "vocabulary"):
        (folder / name).symlink_to(model / name)
    (folder / "config.json").write_text(
        (model / "config.json").read_text().replace("tiny/encoder", "org/absent")
    )
    with pytest.raises(
        ScoringError, match=r"cannot load (.|\n)*org/absent, in .*or in the Hugging Face cache"
    ):
        RadGraph(python=Path(PYTHON), model=folder).graphs(["clear lungs"])
