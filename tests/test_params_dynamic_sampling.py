"""`training.dynamic_sampling`: what is taken, what is refused, and that nothing changes where it is null."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from radrl.params.messages import ParamsError
from radrl.params.rows import row_digests
from radrl.params.schema import validate

REDRAW = {"mode": "redraw", "at_most": 2}
METRIC = "ce_rules_sample14_f1"


@pytest.fixture
def values(root: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((root / "conf/recipes/phantom-60-updates.yaml").read_text())
    return loaded


def given(values: dict[str, Any], arm: str | None = "grpo", **training: Any) -> dict[str, Any]:
    changed = copy.deepcopy(values)
    owner = changed if arm is None else changed["arms"][arm]
    owner["training"] = owner.get("training", {}) | training
    return changed


@pytest.mark.parametrize("own", [REDRAW, {"mode": "drop"}, None])
def test_it_is_taken_as_it_is_written(values: dict[str, Any], own: Any) -> None:
    changed = given(values, dynamic_sampling=own)
    assert validate(changed).model_dump(exclude_unset=True) == changed


@pytest.mark.parametrize(
    ("training", "message"),
    [
        ({"dynamic_sampling": {"mode": "redraw"}}, "mode is redraw, which needs at_most"),
        ({"dynamic_sampling": {"mode": "drop", "at_most": 2}}, "at_most 2 bounds what is redrawn"),
        ({"dynamic_sampling": {"mode": "redraw", "at_most": 0}}, "at_most"),
        ({"dynamic_sampling": {"mode": "resample"}}, "mode"),
        (
            {"dynamic_sampling": {"mode": "drop"}, "loss": {"name": "grpo", "entropy": {"weight": 0.1}}},
            "would weigh loss.entropy too; leave out loss.entropy, or set mode to redraw",
        ),
    ],
)
def test_what_does_not_fit_is_refused(values: dict[str, Any], training: dict[str, Any], message: str) -> None:
    with pytest.raises(ParamsError, match=message):
        validate(given(values, **training))


def test_an_oracle_teaches_by_the_groups_that_would_go(values: dict[str, Any]) -> None:
    with pytest.raises(ParamsError, match=r"arms\.orapo has an oracle, .*training\.dynamic_sampling to null"):
        validate(given(values, "orapo", dynamic_sampling=REDRAW))
    everywhere = given(values, None, dynamic_sampling=REDRAW)
    with pytest.raises(ParamsError, match="has an oracle"):
        validate(everywhere)
    for name, arm in everywhere["arms"].items():
        if arm.get("oracle", "none") != "none":
            everywhere = given(everywhere, name, dynamic_sampling=None)
    validate(everywhere)


def test_null_moves_no_digest_and_a_mode_that_of_its_arm(values: dict[str, Any]) -> None:
    before = row_digests(values)
    null = row_digests(given(values, None, dynamic_sampling=None))
    redrawn, dropped = (
        row_digests(given(values, dynamic_sampling=own)) for own in (REDRAW, {"mode": "drop"})
    )
    for arm in values["arms"]:
        assert null(arm, METRIC) == before(arm, METRIC)
        assert (redrawn(arm, METRIC) != before(arm, METRIC)) == (arm == "grpo")
    assert redrawn("grpo", METRIC) != dropped("grpo", METRIC)
