"""The label-balanced subset as a selection: which studies are complete, and what becomes of their films."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from radrl.observations import OBSERVATIONS
from radrl.selections.balanced import balance, balanced, complete
from radrl.training.preflight import SettingsError


def films(*rows: tuple[str, str | None, str | None, tuple[int, ...]]) -> pd.DataFrame:
    """Films of (study, findings, impression, positive labels); of a study they share all of it."""
    table: list[dict[str, Any]] = []
    for number, (study, findings, impression, found) in enumerate(rows):
        labels = {name: int(place in found) for place, name in enumerate(OBSERVATIONS)}
        texts = {"findings": findings, "impression": impression}
        table.append({"sample_id": f"{study}{number}", "study_id": study, **texts, **labels})
    return pd.DataFrame(table)


# Of the complete studies "two" and "three" have one label each that no other has, and "four" both of them.
SOME = films(
    ("one", "f", None, (0, 1, 2)),
    ("two", "f", "i", (0,)),
    ("two", "f", "i", (0,)),
    ("three", "f", "i", (1,)),
    ("four", "f", "i", (0, 1)),
    ("five", "f", "i", ()),
)


def test_all_films_of_the_most_even_complete_studies_in_their_order() -> None:
    found, numbers = balance(SOME, 0, studies=2)
    assert found.tolist() == ["two1", "two2", "three3"]  # each label once, and no study without one
    assert numbers == {
        "goal": 1,
        "level": 1,
        "level_bound": 1,  # two of each label are four positives, and two studies have three at most
        "peak": 1,
        "peak_bound": 1,
        "positives": 2,
        "positives_bound": 2,
        "proven": True,
    }
    assert balanced(SOME, 0, studies=2).tolist() == found.tolist()


def test_a_study_counts_once_however_many_films_it_has() -> None:
    assert balanced(SOME, 0, studies=4).tolist() == ["two1", "two2", "three3", "four4", "five5"]
    with pytest.raises(SettingsError) as caught:
        balanced(SOME, 0, studies=5)
    assert "is 5, but only 4 of 5 training studies are complete (have findings and impression)" in str(
        caught.value
    )
    assert "give at most 4, or" in str(caught.value)


@pytest.mark.parametrize(
    ("findings", "impression", "whole", "meaning"),
    [
        (("f", None), ("i", "i"), [True, False], "(have findings and impression)"),
        (("f", None), (None, None), [True, False], "(have findings, the one section in this source)"),
        ((None, None), (None, None), [True, True], "(no report of this source has sections, so each study"),
    ],
)
def test_complete_is_what_reports_of_the_source_have(
    findings: tuple[str | None, ...], impression: tuple[str | None, ...], whole: list[bool], meaning: str
) -> None:
    table = films(
        *((f"s{i}", f, i_, (0,)) for i, (f, i_) in enumerate(zip(findings, impression, strict=True)))
    )
    assert complete(table).tolist() == whole
    with pytest.raises(SettingsError) as caught:
        balanced(table, 0, studies=3)
    assert meaning in str(caught.value)
