"""The stage labeler on a corpus in memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset as ds
import pytest
from transformers import BertConfig

from radrl.labelers import LabelerError, build
from radrl.observations import INDEX, NEGATIVE, NO_FINDING, OBSERVATIONS, POSITIVE, UNCERTAIN
from radrl.pipelines.label import label_reports
from radrl.pipelines.labeler import agreement, check_labelers, make_labelers
from radrl.storage.digests import sha256
from radrl.storage.pointers import PointerError

SPLITS = ("pretrain", "train", "val", "test")
RULES: dict[str, Any] = {
    "name": "rules",
    "rules": {"alternatives": "uncertain", "other_findings": True},
    "chexbert": None,
    "compact": None,
}


@pytest.fixture
def compact(small: dict[str, Any]) -> dict[str, Any]:
    sizes = {"vocab_size": 200, "hidden": 16, "layers": 2, "heads": 2, "feed_forward": 16, "recombined": 40}
    return RULES | {"compact": small["labeler"]["compact"] | sizes}


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A checkpoint laid out like the published one, of small sizes."""
    from radrl.labelers.chexbert import folder
    from radrl.labelers.chexbert.model import SPECIAL, CheXbert, build_tokenizer

    tokenizer = build_tokenizer([*SPECIAL, "edema", "."])
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    target = tmp_path / "published"
    target.mkdir()
    folder.save(CheXbert(BertConfig(vocab_size=len(tokenizer), **sizes)), tokenizer, target)
    return target


def made(corpus: ds.Dataset, settings: dict[str, Any], target: Path) -> Path:
    """The folder that the stage writes."""
    write, _ = make_labelers(corpus, settings, seed=0, threads=1, step_report=lambda step, metrics: None)
    target.mkdir()
    write(target)
    return target


def test_compact_labeler_is_made_checked_and_used(
    make_corpus: Callable[..., ds.Dataset], compact: dict[str, Any], tmp_path: Path
) -> None:
    new = [f"There is edema {i}." for i in range(24)]
    corpus = make_corpus(["pretrain", "train", "val", "test"], studies=6, report=new)
    models = made(corpus, compact, tmp_path / "labeler")
    assert sorted(file.name for file in (models / "chexbert_compact").iterdir()) == [
        "chexbert.pth",
        "config.json",
        "vocab.txt",
    ]
    report = check_labelers(corpus, models, compact)
    assert (report["compact"]["training_reports"], report["compact"]["unseen_reports"]) == (12, 12)
    assert report["compact"]["observations"]["Edema"]["support"] == 12
    assert report["compact"]["macro_f1"] is None  # no observation has 20 reports
    assert json.loads(json.dumps(report)) == report
    labels = label_reports(corpus, models, compact | {"name": "chexbert_compact"})
    assert set(np.unique(labels[list(OBSERVATIONS)].to_numpy())) <= {0, 1, 2, 3}
    assert build(compact, models, name="chexbert_compact").name == "chexbert_compact"


def test_same_inputs_give_the_same_bytes(
    make_corpus: Callable[..., ds.Dataset],
    compact: dict[str, Any],
    contents: Callable[[Path], dict[str, bytes]],
    tmp_path: Path,
) -> None:
    one, two = (made(make_corpus(SPLITS), compact, tmp_path / name) for name in ("one", "two"))
    assert contents(one) == contents(two)


def test_published_weights_are_pointed_at_with_their_digests(
    make_corpus: Callable[..., ds.Dataset], published: Path, tmp_path: Path
) -> None:
    settings = RULES | {"name": "chexbert", "chexbert": str(published)}
    models = made(make_corpus(SPLITS), settings, tmp_path / "labeler")
    pointer = json.loads((models / "chexbert" / "pointer.json").read_text())
    assert pointer["path"] == str(published)
    assert pointer["sha256"]["chexbert.pth"] == sha256(published / "chexbert.pth")
    assert build(settings, models).label(["edema."]).shape == (1, 14)


def test_published_weights_that_changed_are_refused(
    make_corpus: Callable[..., ds.Dataset], published: Path, tmp_path: Path
) -> None:
    settings = RULES | {"name": "chexbert", "chexbert": str(published)}
    models = made(make_corpus(SPLITS), settings, tmp_path / "labeler")
    with (published / "vocab.txt").open("a") as vocabulary:
        vocabulary.write("effusion\n")
    with pytest.raises(ValueError, match=r"vocab\.txt has changed since the stage labeler saw it"):
        build(settings, models)
    (published / "vocab.txt").unlink()
    with pytest.raises(PointerError, match=r"vocab\.txt is gone; .*pointer\.json points at it"):
        build(settings, models)


def test_a_checkpoint_of_another_name_is_pointed_at_too(
    make_corpus: Callable[..., ds.Dataset], published: Path, tmp_path: Path
) -> None:
    checkpoint = (published / "chexbert.pth").rename(published / "mine.pth")
    settings = RULES | {"name": "chexbert", "chexbert": str(checkpoint)}
    models = made(make_corpus(SPLITS), settings, tmp_path / "labeler")
    pointer = json.loads((models / "chexbert" / "pointer.json").read_text())
    assert list(pointer["sha256"]) == ["mine.pth", "vocab.txt", "config.json"]
    assert build(settings, models).label(["edema."]).shape == (1, 14)


def test_a_wrong_checkpoint_is_refused_before_anything_is_written(
    make_corpus: Callable[..., ds.Dataset], published: Path, tmp_path: Path
) -> None:
    (published / "chexbert.pth").write_bytes(b"<html>sign in</html>")
    with pytest.raises(LabelerError, match=r"chexbert\.pth"):
        made(make_corpus(SPLITS), RULES | {"chexbert": str(published)}, tmp_path / "labeler")
    assert not (tmp_path / "labeler").exists()


def test_without_models_the_folder_is_empty(make_corpus: Callable[..., ds.Dataset], tmp_path: Path) -> None:
    assert list(made(make_corpus(), RULES, tmp_path / "labeler").iterdir()) == []


def test_agreement_by_hand() -> None:
    teacher = np.zeros((30, 14), dtype=np.int8)
    teacher[:20, INDEX["Edema"]] = POSITIVE
    teacher[20:22, INDEX["Edema"]] = UNCERTAIN
    teacher[:3, INDEX["Fracture"]] = POSITIVE
    pupil = teacher.copy()
    pupil[0, INDEX["Edema"]] = NEGATIVE
    found = agreement(teacher, pupil)
    assert found["equal_classes"] == 1 - 1 / (30 * 14)
    assert found["macro_f1"] == pytest.approx(2 * 19 / (2 * 19 + 1))  # a fracture in 3 reports does not count
    assert found["macro_f1_uncertain_pos"] == pytest.approx(2 * 21 / (2 * 21 + 1))
    assert found["observations"]["Fracture"]["support"] == 3


def test_agreement_with_the_known_is_the_share_of_reports_read_so(
    make_corpus: Callable[..., ds.Dataset], tmp_path: Path
) -> None:
    read = label_reports(make_corpus(["train"]), tmp_path, RULES)[list(OBSERVATIONS)].to_numpy()
    gold = [row.tolist() for row in read]
    gold[0][INDEX["Pleural Effusion"]] = NEGATIVE  # one of four films is known to have none
    gold[3] = None
    report = check_labelers(make_corpus(["train"], gold=gold), tmp_path, RULES)
    assert (report["labeler"], report["reports"], report["known"]) == ("rules", 4, 3)
    assert report["agreement"]["Pleural Effusion"] == 2 / 3
    assert {share for name, share in report["agreement"].items() if name != "Pleural Effusion"} == {1.0}
    assert list(report["agreement"])[NO_FINDING] == "No Finding"


def test_nothing_known_gives_no_agreement(make_corpus: Callable[..., ds.Dataset], tmp_path: Path) -> None:
    found = check_labelers(make_corpus(["test"]), tmp_path, RULES)
    assert found == {"labeler": "rules", "reports": 4, "known": 0}


@pytest.mark.parametrize(
    ("name", "key"), [("chexbert", "labeler.chexbert"), ("chexbert_compact", "labeler.compact")]
)
def test_a_labeler_without_its_model_names_the_key(tmp_path: Path, name: str, key: str) -> None:
    with pytest.raises(LabelerError, match=f"no model of {name}: set {key} and run the stage labeler"):
        build(RULES, tmp_path, name=name)
