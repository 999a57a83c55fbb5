"""A function, or an object of somebody else's, as a reward."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from radrl.rewards.adapted import Adapted, of_function

ASKED = (["a", "bb"], ["c", "d"], ["x", "y"])  # reports, references, sample_ids


def reward(function: Any, **settings: Any) -> Adapted:
    part: Any = SimpleNamespace(object=function, name="own", settings=lambda given: dict(given))
    return of_function(part, settings, "labeler")  # type: ignore[arg-type]


def test_function_is_handed_what_it_names_and_its_settings() -> None:
    def whole(reports: Any, references: Any, sample_ids: Any, labeler: Any, *, times: float) -> list[float]:
        assert (reports, references, sample_ids, labeler) == (*ASKED, "labeler")
        return [times * len(report) for report in reports]

    assert reward(whole, times=1.5)(*ASKED) == [1.5, 3.0]
    assert reward(lambda references: [len(references), 0])(*ASKED) == [2, 0]


def test_what_a_reward_does_not_say_of_itself_is_that_of_wording() -> None:
    plain = reward(lambda reports: [0.0, 0.0])
    assert (plain.name, plain.clinical, plain.reads, plain.told) == ("own", False, "report", {})
    plain(*ASKED)
    assert plain.told == {}


@pytest.mark.parametrize("clinical", [True, False])
def test_what_it_says_of_itself_counts(clinical: bool) -> None:
    told = {"words": 2.0}
    of = SimpleNamespace(clinical=clinical, reads="output", told=told)
    found = Adapted(lambda *_: [1.0, 2.0], "own", of)
    assert (found.clinical, found.reads, found.told) == (clinical, "output", {})  # of the last call
    assert found(*ASKED) == [1.0, 2.0]
    assert found.told is told
