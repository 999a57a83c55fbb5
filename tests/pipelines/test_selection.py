"""Subsets that need no policy."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.dataset as ds
import pytest

from radrl.pipelines.label import label_reports
from radrl.pipelines.selection import make_subsets

LABELER = {"name": "rules", "rules": {"alternatives": "uncertain", "other_findings": True}}
NO_MODELS = Path()
EFFUSION, EDEMA, CLEAR = "Left pleural effusion.", "There is pulmonary edema.", "The lungs are clear."


@pytest.fixture
def subsets(make_corpus: Callable[..., ds.Dataset]) -> Callable[..., Any]:
    def run(balanced: int | None = 4, seed: int = 0, **columns: list[Any]) -> Any:
        # every third film has no impression
        corpus = make_corpus(["train", "test"], studies=12, **columns)
        settings = {"random": {"share": 0.25}, "balanced": balanced and {"studies": balanced}}
        return make_subsets(corpus, label_reports(corpus, NO_MODELS, LABELER), settings, seed)

    return run


FRACTURE, LESION = "Fracture of a left rib.", "Left lung mass."
PAIRED = [EFFUSION, EFFUSION, EFFUSION, EDEMA, FRACTURE, LESION]  # one a study, two films each


@pytest.fixture
def paired(subsets: Callable[..., Any]) -> Callable[..., Any]:
    """Six training studies of two films each."""

    def run(balanced: int, seed: int = 0) -> Any:
        texts = [PAIRED[i // 2] for i in range(12)] + [CLEAR] * 12
        return subsets(
            balanced,
            seed,
            study_id=[f"study{i // 2}" for i in range(24)],
            findings=texts,
            impression=texts,
            report=texts,
        )

    return run


def test_subsets_are_training_films_of_the_asked_sizes(subsets: Callable[..., Any]) -> None:
    full, random, balanced, summary = subsets()
    films = [f"train{i}_1" for i in range(12)]
    assert full["sample_id"].tolist() == films
    assert [len(subset) for subset in (random, balanced)] == [3, 4]
    for subset in (random, balanced):
        assert isinstance(subset, pd.DataFrame)
        assert subset.columns.tolist() == ["sample_id"]
        assert subset["sample_id"].is_unique
        assert set(subset["sample_id"]) <= set(films)
    assert {name: row["samples"] for name, row in summary.items() if name != "balance"} == {
        "complete": 8,
        "full": 12,
        "random": 3,
        "balanced": 4,
    }
    assert summary["full"]["Pleural Effusion"] == 2  # the first of six reports, twice


def test_balanced_takes_complete_studies_alone(subsets: Callable[..., Any]) -> None:
    balanced = subsets(balanced=8)[2]
    assert not {f"train{i}_1" for i in (2, 5, 8, 11)} & set(balanced["sample_id"])
    with pytest.raises(
        ValueError,
        match=r"selection\.balanced\.studies is 9, but only 8 of 12 training studies are complete \(have "
        r"findings and impression\); give at most 8, or set selection\.balanced to null where no arm's",
    ):
        subsets(balanced=9)


@pytest.mark.parametrize(
    ("without", "said"),
    [
        (("findings",), "8 of 12 training studies are complete (have impression, the one section in this"),
        (("findings", "impression"), "12 of 12 training studies are complete (no report of this source has"),
    ],
)
def test_what_counts_as_complete_is_said_of_the_source(
    subsets: Callable[..., Any], without: tuple[str, ...], said: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        subsets(balanced=13, **{name: [None] * 24 for name in without})


def test_without_balanced_no_study_has_to_be_complete(
    subsets: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Half of the studies have findings alone and half an impression alone, so none is complete."""
    sides = {"findings": ["Clear.", None] * 12, "impression": [None, "Clear."] * 12}
    full, random, balanced, summary = subsets(balanced=None, **sides)
    assert (len(full), len(random)) == (12, 3)
    assert balanced.columns.tolist() == ["sample_id"]
    assert balanced.empty
    assert [*summary] == ["full", "random"]
    assert "balanced" not in capsys.readouterr().out


def test_balanced_takes_studies_with_all_their_films(paired: Callable[..., Any]) -> None:
    balanced, summary = paired(balanced=4)[2:]
    numbers = sorted(int(name.removeprefix("train").removesuffix("_1")) for name in balanced["sample_id"])
    assert numbers[2:] == [6, 7, 8, 9, 10, 11]  # edema, fracture, lesion
    assert numbers[:2] in ([0, 1], [2, 3], [4, 5])  # and one effusion
    assert (summary["balanced"]["samples"], summary["balanced"]["studies"]) == (8, 4)
    with pytest.raises(
        ValueError, match=r"selection\.balanced\.studies is 7, but only 6 of 6 training studies"
    ):
        paired(balanced=7)


def test_summary_counts_a_study_once_before_and_after(paired: Callable[..., Any]) -> None:
    summary = paired(balanced=4)[3]
    labels = ("Pleural Effusion", "Edema", "Fracture", "Lung Lesion", "No Finding")
    assert [summary["complete"][name] for name in labels] == [3, 1, 1, 1, 0]
    assert [summary["balanced"][name] for name in labels] == [1, 1, 1, 1, 0]
    assert summary["balance"] == {
        "goal": 1,
        "level": 1,
        "level_bound": 1,  # a second effusion would cost a label its only study
        "peak": 1,
        "peak_bound": 1,
        "positives": 4,
        "positives_bound": 4,
        "proven": True,
    }


def test_counts_and_bounds_are_shown(paired: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> None:
    paired(balanced=4)
    shown = capsys.readouterr().out
    head = next(line for line in shown.splitlines() if line.startswith("studies that are positive for"))
    assert head.split()[-4:] == ["complete", "full", "random", "balanced"]
    row = next(line for line in shown.splitlines() if line.startswith("Pleural Effusion"))
    cells = row.split()[2:]
    assert (cells[0], cells[1], cells[-1]) == ("3", "3", "1")
    assert "balanced, proven best:" in shown
    assert "each label in 1 studies or all there are; asked for 1, bound 1" in shown


def test_draws_follow_the_seed(subsets: Callable[..., Any]) -> None:
    one, again, other = subsets(seed=0), subsets(seed=0), subsets(seed=1)
    for place in (1, 2):
        assert one[place].equals(again[place])
        assert not one[place].equals(other[place])


def test_a_corpus_that_is_all_test_has_empty_subsets(
    make_corpus: Callable[..., ds.Dataset], caplog: pytest.LogCaptureFixture
) -> None:
    corpus = make_corpus(["test"], studies=3)
    settings = {"random": {"share": 0.25}, "balanced": {"studies": 1000}}
    *subsets, summary = make_subsets(corpus, label_reports(corpus, NO_MODELS, LABELER), settings, 0)
    assert [len(subset) for subset in subsets] == [0, 0, 0]
    assert all(list(subset) == ["sample_id"] for subset in subsets)
    assert summary == {}
    assert "no film in split train" in caplog.text
