"""Diversity and subsets on hand-made rollouts."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from radrl.pipelines.label.nodes import label_reports
from radrl.pipelines.selection.nodes import make_subsets, score_diversity

LABELER = {"name": "rules", "rules": {"alternatives": "uncertain", "other_findings": False}}
NO_MODELS = Path()
DDSAMPLING = {"share": 0.5, "std": "population", "uncertain_as_positive": False}
EFFUSION, EDEMA, CLEAR = "Left pleural effusion.", "There is pulmonary edema.", "The lungs are clear."
ROLLOUTS = {
    "train0_1": [EFFUSION, EFFUSION],  # agreed: 0
    "train1_1": [EFFUSION, "Fracture of a left rib."],  # two labels in one of two: 2 * 1/2
    "train2_1": [f"{EFFUSION} {EDEMA}", EFFUSION],  # one label: 1/2
    "train3_1": [EDEMA, "There may be pulmonary edema."],  # a hedge is no positive: 1/2
}


def rollouts(reports: dict[str, list[str]]) -> ds.Dataset:
    rows = [
        {"sample_id": film, "rollout": k, "report": report}
        for film, drawn in reports.items()
        for k, report in enumerate(drawn)
    ]
    return ds.dataset(pa.Table.from_pylist(rows))


def test_diversity_is_the_hand_computed_one() -> None:
    table = score_diversity(rollouts(ROLLOUTS), NO_MODELS, LABELER, DDSAMPLING, seed=0)
    assert table["sample_id"].tolist() == list(ROLLOUTS)
    assert table["diversity"].tolist() == pytest.approx([0, 1, 0.5, 0.5])
    assert (table["rank"][1], table["rank"][0]) == (1, 4)
    assert sorted(table["rank"]) == [1, 2, 3, 4]
    weights = [1 / math.log(rank + 1) for rank in (1, 2, 3, 4)]
    expected = [weights[rank - 1] / sum(weights) for rank in table["rank"]]
    assert table["probability"].tolist() == pytest.approx(expected)
    assert sorted(table["drawn"].dropna()) == [0, 1]  # half of four, in the order of the draw


def test_diversity_follows_its_settings() -> None:
    hedged = DDSAMPLING | {"uncertain_as_positive": True, "std": "sample"}
    table = score_diversity(rollouts(ROLLOUTS), NO_MODELS, LABELER, hedged, seed=0)
    assert table["diversity"].tolist() == pytest.approx([0, 2 * math.sqrt(0.5), math.sqrt(0.5), 0])


def test_draw_follows_the_seed_and_ties_do_not_follow_the_ids() -> None:
    tied = rollouts({f"film{i}": [EFFUSION, EDEMA] for i in range(12)})
    orders = [
        score_diversity(tied, NO_MODELS, LABELER, DDSAMPLING, seed=seed)["rank"].tolist()
        for seed in (0, 0, 1)
    ]
    assert orders[0] == orders[1] != orders[2]
    assert orders[0] != sorted(orders[0])


def test_unequal_numbers_of_rollouts_are_refused() -> None:
    with pytest.raises(ValueError, match="films have 1 to 2 rollouts; run the stage rollouts again"):
        score_diversity(rollouts({**ROLLOUTS, "train3_1": [EDEMA]}), NO_MODELS, LABELER, DDSAMPLING, seed=0)


@pytest.fixture
def subsets(make_corpus: Callable[..., ds.Dataset]) -> Callable[..., Any]:
    def run(balanced: int = 4, seed: int = 0, **columns: list[Any]) -> Any:
        # every third film has no impression
        corpus = make_corpus(["train", "test"], studies=12, **columns)
        reports = {f"train{i}_1": [EFFUSION, EDEMA] for i in range(12)}
        diversity = score_diversity(rollouts(reports), NO_MODELS, LABELER, DDSAMPLING, seed)
        settings = {"ddsampling": DDSAMPLING, "random": {"share": 0.25}, "balanced": {"studies": balanced}}
        return diversity, *make_subsets(
            corpus, label_reports(corpus, NO_MODELS, LABELER), diversity, settings, seed
        )

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
    _, full, random, ddsampling, balanced, summary = subsets()
    films = [f"train{i}_1" for i in range(12)]
    assert full["sample_id"].tolist() == films
    assert [len(subset) for subset in (random, ddsampling, balanced)] == [3, 6, 4]
    for subset in (random, ddsampling, balanced):
        assert isinstance(subset, pd.DataFrame)
        assert subset.columns.tolist() == ["sample_id"]
        assert subset["sample_id"].is_unique
        assert set(subset["sample_id"]) <= set(films)
    assert {name: row["samples"] for name, row in summary.items() if name != "balance"} == {
        "complete": 8,
        "full": 12,
        "random": 3,
        "ddsampling": 6,
        "balanced": 4,
    }
    assert summary["full"]["Pleural Effusion"] == 2  # the first of six reports, twice


def test_ddsampling_keeps_the_order_of_the_draw(subsets: Callable[..., Any]) -> None:
    diversity, _, _, ddsampling, _, _ = subsets()
    drawn = diversity.dropna(subset="drawn").set_index("drawn")["sample_id"].sort_index()
    assert ddsampling["sample_id"].tolist() == drawn.tolist()


def test_balanced_takes_complete_studies_alone(subsets: Callable[..., Any]) -> None:
    balanced = subsets(balanced=8)[4]
    assert not {f"train{i}_1" for i in (2, 5, 8, 11)} & set(balanced["sample_id"])
    with pytest.raises(
        ValueError, match=r"selection\.balanced\.studies is 9, but only 8 of 12 .* give at most 8"
    ):
        subsets(balanced=9)


def test_balanced_takes_studies_with_all_their_films(paired: Callable[..., Any]) -> None:
    balanced, summary = paired(balanced=4)[4:]
    numbers = sorted(int(name.removeprefix("train").removesuffix("_1")) for name in balanced["sample_id"])
    assert numbers[2:] == [6, 7, 8, 9, 10, 11]  # edema, fracture, lesion
    assert numbers[:2] in ([0, 1], [2, 3], [4, 5])  # and one effusion
    assert (summary["balanced"]["samples"], summary["balanced"]["studies"]) == (8, 4)
    with pytest.raises(
        ValueError, match=r"selection\.balanced\.studies is 7, but only 6 of 6 training studies"
    ):
        paired(balanced=7)


def test_summary_counts_a_study_once_before_and_after(paired: Callable[..., Any]) -> None:
    summary = paired(balanced=4)[5]
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
    assert head.split()[-5:] == ["complete", "full", "random", "ddsampling", "balanced"]
    row = next(line for line in shown.splitlines() if line.startswith("Pleural Effusion"))
    cells = row.split()[2:]
    assert (cells[0], cells[1], cells[-1]) == ("3", "3", "1")
    assert "balanced, proven best:" in shown
    assert "each label in 1 studies or all there are; asked for 1, bound 1" in shown


def test_draws_follow_the_seed(subsets: Callable[..., Any]) -> None:
    one, again, other = subsets(seed=0), subsets(seed=0), subsets(seed=1)
    for place in (2, 3):
        assert one[place].equals(again[place])
        assert not one[place].equals(other[place])
