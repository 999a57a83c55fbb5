"""`training.reward_sum`: what is taken, what is refused, and that its neutral value changes nothing."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from radrl.params.messages import ParamsError
from radrl.params.rows import row_digests
from radrl.params.schema import validate

METRIC = "ce_rules_sample14_f1"


@pytest.fixture
def values(root: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((root / "conf/recipes/phantom-60-updates.yaml").read_text())
    return loaded


def given(values: dict[str, Any], arm: str, **training: Any) -> dict[str, Any]:
    changed = copy.deepcopy(values)
    own = changed["arms"][arm]
    own["training"] = own.get("training", {}) | training
    return changed


def test_parts_may_be_normalised_each_for_itself(values: dict[str, Any]) -> None:
    changed = given(values, "grpo", reward_sum="normalised")
    assert validate(changed).model_dump(exclude_unset=True) == changed


@pytest.mark.parametrize(
    ("arm", "training", "message"),
    [
        ("grpo", {"reward_sum": "mean"}, "reward_sum"),
        ("grpo", {"advantage": "none"}, "advantage none divides by no spread"),
        ("grpo", {"dynamic_sampling": {"mode": "drop"}}, "such a group may teach; set reward_sum to sum"),
        ("orapo", {}, r"arms\.orapo\.training\.reward_sum is normalised, but the reward has one part"),
    ],
)
def test_what_does_not_fit_is_refused(
    values: dict[str, Any], arm: str, training: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParamsError, match=message):
        validate(given(values, arm, **{"reward_sum": "normalised"} | training))


def test_digests_are_what_they_were_before_there_was_the_key(values: dict[str, Any]) -> None:
    before = row_digests(values)
    summed = row_digests(given(values, "grpo", reward_sum="sum"))
    normalised = row_digests(given(values, "grpo", reward_sum="normalised"))
    for arm in values["arms"]:
        assert summed(arm, METRIC) == before(arm, METRIC)
        assert (normalised(arm, METRIC) != before(arm, METRIC)) == (arm == "grpo")
