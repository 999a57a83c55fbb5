"""Diversity of hand-made rollouts, and the subset drawn by it."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from radrl.labelers import parallel
from radrl.pipelines.ddsampling import Read, label_rollouts, score_diversity, take_drawn, take_most_diverse
from radrl.pipelines.label import label_reports

LABELER = {"name": "rules", "rules": {"alternatives": "uncertain", "other_findings": True}}
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


def labelled(reports: dict[str, list[str]]) -> Read:
    return label_rollouts(rollouts(reports), NO_MODELS, LABELER)


def test_diversity_is_the_hand_computed_one() -> None:
    table = score_diversity(labelled(ROLLOUTS), DDSAMPLING, seed=0)
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
    table = score_diversity(labelled(ROLLOUTS), hedged, seed=0)
    assert table["diversity"].tolist() == pytest.approx([0, 2 * math.sqrt(0.5), math.sqrt(0.5), 0])


def test_draw_follows_the_seed_and_ties_do_not_follow_the_ids() -> None:
    tied = labelled({f"film{i}": [EFFUSION, EDEMA] for i in range(12)})
    orders = [score_diversity(tied, DDSAMPLING, seed=seed)["rank"].tolist() for seed in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]
    assert orders[0] != sorted(orders[0])


def test_labels_do_not_follow_how_many_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = labelled(ROLLOUTS)
    monkeypatch.setattr(parallel, "OF_FILES", 3)  # a film's rollouts come in two parts
    parts = labelled(ROLLOUTS)
    assert parts[0] == whole[0]
    assert np.array_equal(parts[1], whole[1])


def test_unequal_numbers_of_rollouts_are_refused() -> None:
    with pytest.raises(ValueError, match="films have 1 to 2 rollouts; run the stage rollouts again"):
        labelled({**ROLLOUTS, "train3_1": [EDEMA]})


def test_subset_keeps_the_order_of_the_draw_and_is_counted(
    make_corpus: Callable[..., ds.Dataset], capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = make_corpus(["train", "test"], studies=12)
    drawn = labelled({f"train{i}_1": [EFFUSION, EDEMA] for i in range(12)})
    diversity = score_diversity(drawn, DDSAMPLING, seed=0)
    top = take_most_diverse(drawn, DDSAMPLING | {"share": 0.25}, seed=0)
    subset, summary = take_drawn(diversity, top, corpus, label_reports(corpus, NO_MODELS, LABELER))
    in_order = diversity.dropna(subset="drawn").set_index("drawn")["sample_id"].sort_index()
    assert subset["sample_id"].tolist() == in_order.tolist()
    assert {name: row["samples"] for name, row in summary.items()} == {
        "full": 12,
        "ddsampling": 6,
        "most_diverse": 3,
    }
    assert "ddsampling" in capsys.readouterr().out


def test_most_diverse_are_the_first_by_rank_with_the_ties_of_the_draw() -> None:
    reports = ROLLOUTS | {f"train{i}_1": [f"{EFFUSION} {EDEMA}", EFFUSION] for i in range(4, 20)}
    read = labelled(reports)
    settings = DDSAMPLING | {"share": 0.4}
    for seed in range(3):
        found = take_most_diverse(read, settings, seed=seed)["sample_id"].tolist()
        ranked = score_diversity(read, settings, seed=seed)
        assert found == ranked.nsmallest(8, "rank")["sample_id"].tolist()
        assert found[0] == "train1_1"
        assert "train0_1" not in found


def test_most_diverse_has_a_reading_of_its_own() -> None:
    hedged = DDSAMPLING | {"share": 0.75, "uncertain_as_positive": True}
    assert "train3_1" not in set(
        take_most_diverse(labelled(ROLLOUTS), hedged | {"share": 0.5}, seed=0)["sample_id"]
    )
