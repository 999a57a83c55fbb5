"""Selections by diversity, with rollouts whose diversity is worked out by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from radrl.selections.ddsampling import ddsampling, score, taken
from radrl.selections.most_diverse import most_diverse

# Of film i the first of 14 labels is positive in i of 4 rollouts, and hedged in another. So with hedged ones
# left out "c" differs most (2 of 4), then "b" and "d" (1 and 3 of 4), then "a" (none).
# With hedged ones as positive it is i + 1: "b" (2 of 4), then "a" and "c" (1 and 3), then "d" (all).
FILMS = ["a", "b", "c", "d"]
LABELS = np.zeros((4, 4, 14), np.int64)
for film in range(4):
    LABELS[film, :film, 0] = 1
    LABELS[film, 3, 0] = 3
SETTINGS = {"share": 0.75, "std": "population", "uncertain_as_positive": False}


def test_score_by_hand() -> None:
    table = score(FILMS, LABELS, 0, **SETTINGS)  # type: ignore[arg-type]
    assert [*table] == ["sample_id", "diversity", "rank", "probability", "drawn"]
    assert table["sample_id"].tolist() == FILMS
    ranks = dict(zip(FILMS, table["rank"], strict=True))
    assert (ranks["c"], ranks["a"], {ranks["b"], ranks["d"]}) == (1, 4, {2, 3})
    assert table["drawn"].dtype == "Int64"  # missing, and not a number that is none
    assert sorted(table["drawn"].dropna()) == [0, 1, 2]
    assert table["drawn"].isna().sum() == 1


def test_standard_deviation_and_reading_are_those_asked_for() -> None:
    population = score(FILMS, LABELS, 0, **SETTINGS)["diversity"]  # type: ignore[arg-type]
    sample = score(FILMS, LABELS, 0, **SETTINGS | {"std": "sample"})["diversity"]  # type: ignore[arg-type]
    assert (sample / population)[1:].to_numpy() == pytest.approx((4 / 3) ** 0.5)  # sqrt(K / (K - 1)), K = 4
    hedged = score(FILMS, LABELS, 0, **SETTINGS | {"uncertain_as_positive": True})  # type: ignore[arg-type]
    assert hedged["rank"].tolist()[1] == 1
    assert hedged["rank"].tolist()[3] == 4


def test_films_are_taken_in_the_order_of_the_draw_whatever_else_a_table_lacks() -> None:
    table = pd.DataFrame(
        {"sample_id": FILMS, "drawn": pd.array([2, None, 0, 1], "Int64"), "note": [None, "x", None, "y"]}
    )
    assert taken(table).tolist() == ["c", "d", "a"]


def test_selection_is_what_its_scores_say_was_drawn() -> None:
    for seed in range(5):
        found = ddsampling(FILMS, LABELS, seed, **SETTINGS)  # type: ignore[arg-type]
        assert found.tolist() == taken(score(FILMS, LABELS, seed, **SETTINGS)).tolist()  # type: ignore[arg-type]
        assert len(set(found)) == 3  # 0.75 of 4


def test_most_diverse_come_first_and_ties_by_the_seed() -> None:
    draws = [most_diverse(FILMS, LABELS, seed, **SETTINGS).tolist() for seed in range(8)]  # type: ignore[arg-type]
    assert {tuple(found) for found in draws} == {("c", "b", "d"), ("c", "d", "b")}
    hedged = most_diverse(FILMS, LABELS, 0, **SETTINGS | {"uncertain_as_positive": True})  # type: ignore[arg-type]
    assert hedged.tolist()[0] == "b"
    assert hedged.name == "sample_id"
