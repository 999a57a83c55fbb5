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
        {"film_id": film, "sample": k, "report": report}
        for film, drawn in reports.items()
        for k, report in enumerate(drawn)
    ]
    return ds.dataset(pa.Table.from_pylist(rows))


def test_diversity_is_the_hand_computed_one() -> None:
    table = score_diversity(rollouts(ROLLOUTS), NO_MODELS, LABELER, DDSAMPLING, seed=0)
    assert table["film_id"].tolist() == list(ROLLOUTS)
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
    def run(balanced: int = 4, seed: int = 0) -> Any:
        corpus = make_corpus(["train", "test"], studies=12)  # every third film has no impression
        reports = {f"train{i}_1": [EFFUSION, EDEMA] for i in range(12)}
        diversity = score_diversity(rollouts(reports), NO_MODELS, LABELER, DDSAMPLING, seed)
        settings = {"ddsampling": DDSAMPLING, "random": {"share": 0.25}, "balanced": {"studies": balanced}}
        return diversity, *make_subsets(
            corpus, label_reports(corpus, NO_MODELS, LABELER), diversity, settings, seed
        )

    return run


def test_subsets_are_training_films_of_the_asked_sizes(subsets: Callable[..., Any]) -> None:
    _, full, random, ddsampling, balanced, summary = subsets()
    films = [f"train{i}_1" for i in range(12)]
    assert full["film_id"].tolist() == films
    assert [len(subset) for subset in (random, ddsampling, balanced)] == [3, 6, 4]
    for subset in (random, ddsampling, balanced):
        assert isinstance(subset, pd.DataFrame)
        assert subset.columns.tolist() == ["film_id"]
        assert subset["film_id"].is_unique
        assert set(subset["film_id"]) <= set(films)
    assert {name: row["films"] for name, row in summary.items()} == {
        "full": 12,
        "random": 3,
        "ddsampling": 6,
        "balanced": 4,
    }
    assert summary["full"]["Pleural Effusion"] == 2  # the first of six reports, twice


def test_ddsampling_keeps_the_order_of_the_draw(subsets: Callable[..., Any]) -> None:
    diversity, _, _, ddsampling, _, _ = subsets()
    drawn = diversity.dropna(subset="drawn").set_index("drawn")["film_id"].sort_index()
    assert ddsampling["film_id"].tolist() == drawn.tolist()


def test_balanced_takes_complete_studies_alone(subsets: Callable[..., Any]) -> None:
    balanced = subsets(balanced=8)[4]
    assert not {f"train{i}_1" for i in (2, 5, 8, 11)} & set(balanced["film_id"])
    with pytest.raises(ValueError, match="asked for 9 balanced studies, but 8 of 12 are complete"):
        subsets(balanced=9)


def test_draws_follow_the_seed(subsets: Callable[..., Any]) -> None:
    one, again, other = subsets(seed=0), subsets(seed=0), subsets(seed=1)
    for place in (2, 3):
        assert one[place].equals(again[place])
        assert not one[place].equals(other[place])
