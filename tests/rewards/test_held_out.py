"""RadMatch and CRIMSON judge what was trained, so that no shipped arm may learn from them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from radrl.parts.builtin import BUILTIN
from radrl.rewards.radeval import METRICS

ROOT = Path(__file__).parents[2]
SHIPPED = [
    ROOT / "params.yaml",
    *sorted((ROOT / "conf").rglob("*.yaml")),
    *sorted((ROOT / "conf").rglob("*.yml")),
]
JUDGES = ("radmatch", "crimson")


def said(values: Any, at: str = "") -> Iterator[str]:
    """Every key and value, after the keys that lead there, in one line each."""
    if isinstance(values, dict):
        for key, value in values.items():
            yield from said(value, f"{at}.{key}")
    elif isinstance(values, list):
        for value in values:
            yield from said(value, at)
    else:
        yield f"{at} {values}".lower()


def learned_from(values: Any) -> list[str]:
    """Where a reward, its parts or their judge are one of those held out."""
    lines = [line for line in said(values) if "reward" in line or ".facts" in line]
    return [line for line in lines if any(judge in line for judge in JUDGES)]


@pytest.mark.parametrize("file", SHIPPED, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_shipped_arm_learns_from_a_judge_that_is_held_out(file: Path) -> None:
    assert learned_from(yaml.safe_load(file.read_text(encoding="utf-8"))) == []


def test_no_reward_is_made_of_one() -> None:
    assert learned_from({"reward": BUILTIN["reward"]}) == []
    assert not {*JUDGES} & {*METRICS}  # RadEval has CRIMSON; what its reward may ask is listed


@pytest.mark.parametrize(
    "params",
    [
        {"arms": {"mine": {"reward": {"my_lab.crimson:Reward": {"weight": 1}}}}},
        {
            "arms": {
                "mine": {"reward": {"facts": {"entailment": {"judge": {"model": "medgemma-4b-it-crimson"}}}}}
            }
        },
        {"variations": [{"set": {"arms.grpo.reward.radmatch": {"weight": 1}}}]},
    ],
)
def test_one_would_be_found(params: Any) -> None:
    assert learned_from(params)
