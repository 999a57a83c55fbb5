"""FactS by a judge as an arm's reward, against a server on this machine that fails as told."""

from __future__ import annotations

import importlib.util
import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

from radrl.labelers.rules.labeler import RulesLabeler
from radrl.observations import OBSERVATIONS
from radrl.rewards.base import RewardError, RewardSum
from radrl.rewards.build import build

_FILE = Path(__file__).parents[1] / "scoring" / "judge" / "conftest.py"
_SPEC = importlib.util.spec_from_file_location("judge_server_of_rewards", _FILE)
assert _SPEC is not None
assert _SPEC.loader is not None
_SERVER = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = _SERVER  # its dataclass looks itself up there
_SPEC.loader.exec_module(_SERVER)
serve, says = _SERVER.serve, _SERVER.says

REFERENCE = "Left pleural effusion."
REPORTS = ["There is an effusion.", "Secretly broken.", "No effusion."]


def answer(prompt: str, before: int) -> Any:
    """Effusion is all it knows, and one report it answers by half."""
    if "Report (a JSON string)" in prompt:
        if "broken" in prompt:
            return _SERVER.completion('{"facts": ["sec')
        return _SERVER.completion(json.dumps({"facts": ["effusion" if "There" in prompt else "no effusion"]}))
    rulings: dict[str, dict[str, Any]] = {name: {"facts": [], "verdict": "silent"} for name in OBSERVATIONS}
    verdict = "contradicted" if '"no effusion"' in prompt else "supported"
    rulings["Pleural Effusion"] = {"facts": [1], "verdict": verdict}
    return _SERVER.completion(json.dumps(rulings))


def reward(url: str, missing: str) -> RewardSum:
    judge = {
        "backend": "endpoint",
        "url": url,
        "model": "m",
        "allowed_hosts": ["127.0.0.1"],
        "structured": True,
        "concurrency": 2,
        "retries": 0,
        "timeout": 10.0,
        "max_tokens": 64,
        "temperature": 0.0,
        "seed": 0,
    }
    settings = {
        "weight": 1.0,
        "extractor": "judge",
        "entailment": "judge",
        "uncertain_as_positive": False,
        "beta": 1.5,
        "xi": 1e-8,
        "both_empty": 1.0,
        "judge": judge,
        "missing": missing,
    }
    return build({"facts": settings}, RulesLabeler())


def score(rewards: RewardSum) -> list[float]:
    (part,) = rewards.parts
    assert part.name == "facts"
    return rewards.score_part(part, REPORTS, [REFERENCE] * 3, ["film7", "film7", "film8"])


def test_half_an_answer_is_missing_where_the_part_may_skip(serve: Any) -> None:
    right, broken, wrong = score(reward(serve(answer).url, "skip"))
    assert (right, wrong) == (pytest.approx(1), 0.0)
    assert math.isnan(broken)


def test_half_an_answer_stops_the_run_with_the_films_id(serve: Any) -> None:
    with pytest.raises(RewardError, match=r"report film7 has no facts score: .*\(1 of 3 reports") as caught:
        score(reward(serve(answer).url, "raise"))
    assert "ecret" not in str(caught.value)
