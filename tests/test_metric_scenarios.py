"""The scenarios have the form that docs/metrics.md states, and what is ranked right is counted as it says"""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import groupby
from pathlib import Path

import metric_scenarios
import pandas as pd
import pytest
from metric_scenarios import ALL, KINDS, numbered, pairs_right, random_shares, read_scenarios, shares

ROOT = Path(__file__).parents[1]
ROWS = read_scenarios()
TEXTS = ["reference", "hypothesis"]
OF_SCENARIO = ["kind", "put_aside", "reference", "why"]
PATIENT = ["age", "indication"]


def first_rows() -> pd.DataFrame:
    """A row a scenario."""
    return ROWS.drop_duplicates("scenario")


def test_nine_scenarios_a_kind_numbered_in_the_files_order() -> None:
    assert list(ROWS) == ["scenario", "kind", "put_aside", *PATIENT, *TEXTS, "rank", "why"]
    assert list(first_rows()["scenario"]) == list(range(1, 91))
    assert ROWS["scenario"].is_monotonic_increasing
    assert list(first_rows()["kind"]) == [kind for kind in KINDS for _ in range(9)]
    assert (ROWS.groupby("scenario")[OF_SCENARIO].nunique() == 1).all(axis=None)


def test_the_third_sixth_and_ninth_of_each_kind_are_put_aside() -> None:
    for _, of in first_rows().groupby("kind"):
        assert list(of["put_aside"]) == ["no", "no", "yes"] * 3


def test_pairs_of_reports_are_400_and_more_with_the_changes() -> None:
    changes = pd.read_csv(ROOT / "docs" / "metric_checks.csv")
    assert len(ROWS) >= 190
    assert len(ROWS) + len(changes) >= 400
    both = pd.concat([changes[TEXTS], first_rows()[TEXTS]])
    assert not set(changes["reference"]) & set(ROWS["reference"])
    assert not both.duplicated().any()


def test_nothing_stands_twice() -> None:
    assert first_rows()["reference"].is_unique
    assert first_rows()["why"].is_unique
    assert not ROWS.duplicated([*TEXTS, *PATIENT]).any()
    assert not (ROWS["reference"] == ROWS["hypothesis"]).any()
    # one text in two ranks only where the patient differs
    assert set(ROWS.loc[ROWS.duplicated(TEXTS), "kind"]) == {"patient_context"}


def test_two_or_three_hypotheses_best_first_in_at_least_two_ranks() -> None:
    for scenario, of in ROWS.groupby("scenario"):
        ranks = of["rank"].tolist()
        assert 2 <= len(ranks) <= 3, scenario
        assert ranks == sorted(ranks), scenario
        assert sorted(set(ranks)) == list(range(1, max(ranks) + 1)), scenario
        assert max(ranks) >= 2, scenario


def test_scenarios_of_context_state_the_patient_and_four_differ_in_the_patient_alone() -> None:
    of = ROWS[ROWS["kind"] == "patient_context"]
    assert of[PATIENT].notna().all(axis=None)
    assert ROWS["age"].dropna().between(0, 110).all()
    patients = of.groupby("scenario")
    same_text = patients["hypothesis"].nunique() == 1
    differ = (patients[PATIENT].nunique() > 1).any(axis=1)
    assert list(same_text) == list(differ)
    assert [place for place, same in enumerate(same_text, 1) if same] == [1, 4, 6, 9]


def test_whoever_weighs_by_patients_is_given_those_that_are_stated() -> None:
    found = metric_scenarios.contexts(ROWS)
    stated = ROWS[PATIENT].notna().any(axis=1)
    assert [one is not None for one in found] == stated.tolist()
    rows = ROWS[stated][PATIENT].itertuples(index=False)
    for one, (age, indication) in zip(filter(None, found), rows, strict=True):
        assert one.age == age or (one.age is None and math.isnan(age))
        assert one.indication == (indication.lower() if isinstance(indication, str) else "")


def test_texts_are_sentences_without_loose_blanks() -> None:
    for column in (*TEXTS, "why"):
        for text in ROWS[column]:
            assert text == text.strip(), text
            assert "  " not in text, text
            assert text.endswith("."), text
    assert ROWS["why"].str.len().between(20, 260).all()


def test_no_sentence_is_repeated_but_where_repetition_is_the_question() -> None:
    for row in ROWS.itertuples():
        parts = Counter(re.split(r"(?<=\.)\s+", row.hypothesis))
        if max(parts.values()) > 1:
            assert row.kind == "practicality", row.hypothesis


def test_pages_own_figures_are_the_files() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    changes = len(pd.read_csv(ROOT / "docs" / "metric_checks.csv"))
    assert f"90 scenarios, {len(ROWS)} pairs of reports, so {len(ROWS) + changes} with the changes" in page


@pytest.mark.parametrize(
    ("ranks", "values", "right"),
    [
        ([1, 2], [0.5, 0.4], [True]),
        ([1, 2], [0.5, 0.5], [False]),
        ([1, 2, 3], [0.9, 0.1, 0.2], [True, True, False]),
        ([1, 1, 2], [0.3, 0.8, 0.3], [False, True]),
        ([2, 1], [0.1, 0.2], [True]),
        ([1, 2], [math.nan, 0.2], [False]),
        ([1, 2], [0.2, math.nan], [False]),
    ],
)
def test_the_better_one_must_be_strictly_higher(ranks, values, right) -> None:
    assert pairs_right(ranks, values) == right


def scored() -> pd.DataFrame:
    """Two scenarios of one kind: of the first one pair of three is wrong, the second is right."""
    rows = pd.DataFrame(
        {
            "scenario": [1, 1, 1, 2, 2],
            "kind": "location",
            "put_aside": ["no", "no", "no", "yes", "yes"],
            "rank": [1, 2, 3, 1, 2],
        }
    )
    return numbered(rows, pd.DataFrame({"m": [0.9, 0.1, 0.2, 1.0, 0.0]}))


def test_shares_by_hand() -> None:
    assert list(scored()["hypothesis"]) == [1, 2, 3, 1, 2]
    found = shares(scored()).set_index(["metric", "kind", "put_aside"])
    for kind in ("location", ALL):
        assert found.loc[("m", kind, "no")].tolist() == [1, 0, 3, 2]
        assert found.loc[("m", kind, "yes")].tolist() == [1, 1, 1, 1]


def test_a_random_order_is_right_in_one_of_six_orders_of_three_and_one_of_two() -> None:
    found = random_shares(scored()).set_index(["kind", "put_aside"])
    assert found.loc[(ALL, "no"), "scenarios_right"] == pytest.approx(1 / 6)
    assert found.loc[(ALL, "yes"), "scenarios_right"] == pytest.approx(1 / 2)
    assert found.loc[(ALL, "no"), "pairs_right"] == pytest.approx(3 / 2)


def test_ranking_by_the_files_own_ranks_is_right_throughout() -> None:
    perfect = numbered(ROWS, pd.DataFrame({"perfect": -ROWS["rank"]}))
    found = shares(perfect)
    assert (found["scenarios"] == found["scenarios_right"]).all()
    assert (found["pairs"] == found["pairs_right"]).all()
    assert found.loc[found["kind"] == ALL, "scenarios"].tolist() == [60, 30]


def test_kept_scores_stand_in_the_scenarios_order() -> None:
    kept = pd.read_csv(ROOT / "docs" / metric_scenarios.SCORES)
    keys = list(metric_scenarios.KEYS)
    pd.testing.assert_frame_equal(kept[keys], ROWS[keys])
    assert [len(list(of)) for _, of in groupby(kept["scenario"])] == list(ROWS.groupby("scenario").size())
