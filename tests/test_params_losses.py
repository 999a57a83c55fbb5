"""`training.loss`: a name, or a name with settings that are the loss's."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from radrl.params.messages import ParamsError
from radrl.params.schema import validate


@pytest.fixture
def values(root: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((root / "params.yaml").read_text())
    return loaded


def given(values: dict[str, Any], loss: Any, arm: str | None = None) -> dict[str, Any]:
    changed = copy.deepcopy(values)
    owner = changed if arm is None else changed["arms"][arm]
    owner["training"] = owner.get("training", {}) | {"loss": loss}
    return changed


@pytest.mark.parametrize(
    "loss",
    [
        "luspo",
        {"name": "grpo", "ratio": "sequence", "two_sided": 4.0},
        {"name": "cispo", "cap": 3.0, "doubtful_share": 0.2},
        {"name": "sapo", "temperatures": [1.0, 1.1], "entropy": {"weight": 0.01}},
        {"name": "vespo", "powers": [2.0, 3.0], "decays": [3.0, 2.0]},
        {"name": "dapo", "entropy": {"weight": 0.0, "target": 1.5, "least": 0.1, "most": 0.2, "step": 0.01}},
    ],
)
def test_losses_are_taken_as_they_are_written(values: dict[str, Any], loss: Any) -> None:
    changed = given(values, loss, arm="grpo")
    read = validate(changed)
    assert read.model_dump(exclude_unset=True) == changed


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ("gspo", "training.loss"),
        ({"name": "grpo", "cap": 5.0}, "cap is a setting of cispo, and the loss is grpo; leave it out"),
        ({"name": "sapo", "two_sided": 5.0}, "two_sided is a setting of grpo, bnpo, dr_grpo, dapo, luspo"),
        ({"name": "vespo", "ratio": "sequence"}, "vespo weighs whole reports by itself"),
        ({"name": "grpo", "entropy": {"weight": 0.0}}, "weight is 0 and there is no target"),
        (
            {"name": "grpo", "entropy": {"weight": 0.1, "most": 0.2}},
            "most is of a weight that follows a target",
        ),
        (
            {"name": "grpo", "entropy": {"weight": 0.1, "target": 1.0, "least": 0.3, "most": 0.2}},
            "least 0.3 is above most 0.2; exchange them",
        ),
        ({"name": "grpo", "doubtful_share": 1.0}, "doubtful_share"),
    ],
)
def test_a_wrong_loss_is_named_with_the_mend(values: dict[str, Any], loss: Any, message: str) -> None:
    with pytest.raises(ParamsError) as caught:
        validate(given(values, loss))
    assert message in str(caught.value)


def test_a_ratio_of_whole_reports_is_refused_where_credit_is_of_tokens(values: dict[str, Any]) -> None:
    """Its derivative is the same for all tokens of a report."""
    loss = {"name": "grpo", "ratio": "sequence"}
    validate(given(values, loss, arm="grpo"))
    with pytest.raises(ParamsError, match=r"arms\.deer\.training\.loss\.ratio is sequence.* credit gradient"):
        validate(given(values, loss, arm="deer"))
