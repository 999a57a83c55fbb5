"""The schema of an arm's `oracle` and what it says of a wrong one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from radrl.labelers.rules.labeler import RulesLabeler
from radrl.params.messages import ParamsError
from radrl.params.schema import Params, validate
from radrl.params.training import clinical_names
from radrl.parts.find import names
from radrl.rewards.build import build

ORACLE = {
    "momentum": 0.5,
    "per": "prompt",
    "w_min": 0.05,
    "w_max": 0.15,
    "exponent": 2.0,
    "negatives": "zero_reward",
    "without_negatives": "drop_term",
    "tau": 5.0,
}
BLEU = {"bleu2": {"weight": 1.0, "preparation": "whitespace", "phase_switch": 0.0}}


def checked(root: Path, **arm: Any) -> Params:
    """params.yaml with other keys for the arm grpo."""
    values: dict[str, Any] = yaml.safe_load((root / "params.yaml").read_text())
    values["arms"]["grpo"] |= arm
    return validate(values)


@pytest.mark.parametrize("oracle", ["none", ORACLE, ORACLE | {"per": "batch", "w_min": 0.0, "w_max": 0.0}])
def test_oracle_is_written_as_it_was_read(root: Path, oracle: Any) -> None:
    written = checked(root, oracle=oracle).model_dump(exclude_unset=True)
    assert written["arms"]["grpo"]["oracle"] == oracle


@pytest.mark.parametrize("name", ["radgraph_rules", "green_rules"])
def test_rewards_by_rules_are_clinical_enough_for_an_oracle(root: Path, name: str) -> None:
    rewards = {name: {"weight": 1.0}, "length": {"weight": 0.25}}
    assert checked(root, oracle=ORACLE, reward=rewards).arms["grpo"].reward is not None


@pytest.mark.parametrize(
    ("arm", "message"),
    [
        ({"oracle": ORACLE | {"w_min": 0.2}}, "w_min 0.2 is above w_max 0.15; exchange them"),
        ({"oracle": ORACLE | {"tau": 0.0}}, "tau: Input should be greater than 0"),
        ({"oracle": ORACLE | {"momentum": 1.5}}, "momentum: Input should be less than or equal to 1"),
        ({"oracle": ORACLE | {"taw": 1}}, "taw: no such key; did you mean 'tau'?"),
        ({"oracle": {"tau": 1.0}}, "arms.grpo.oracle.w_max: is missing"),
        ({"oracle": None}, "arms.grpo.oracle: None is no oracle; give none, or its settings"),
        ({"oracle": ORACLE, "reward": None}, "oracle is set but the arm has no reward"),
        (
            {"oracle": ORACLE, "reward": BLEU},
            "has a weight; add one of ce_f1, accuracy",
        ),
        (
            {"oracle": ORACLE, "reward": {"length": {"weight": 1.0}}},
            "weighted_findings, radgraph_rules, green",
        ),
        (
            {"reward": {"length": {"weight": 1.0, "unit": "words"}}},
            "grpo.reward.length: unit is words, so give",
        ),
        ({"reward": {"radgraph_rules": {"weight": 1.0, "level": "partly"}}}, "radgraph_rules.level: "),
        (
            {"oracle": ORACLE, "reward": BLEU | {"mccs": {"weight": 0.0, "margin": 0.0, "eps": 1e-8}}},
            "no clinical part of reward has a weight",
        ),
        ({"oracle": ORACLE, "output": "think_report"}, "but output is think_report; set output to plain"),
    ],
)
def test_wrong_oracle_is_refused_with_the_mend(root: Path, arm: dict[str, Any], message: str) -> None:
    with pytest.raises(ParamsError) as refused:
        checked(root, **arm)
    assert message in str(refused.value)


def test_clinical_parts_are_those_that_say_so() -> None:
    settings: dict[str, dict[str, Any]] = {
        "ce_f1": {"uncertain_as_positive": False, "both_empty": 1.0},
        "bleu2": {"preparation": "whitespace"},
        "nlg": {"preparation": "whitespace", "bleu": 4},
        "accuracy": {"agreement": "all", "uncertain_as_positive": False},
        "mccs": {"margin": 0.0, "eps": 1e-8},
        "format": {},
        "facts": {
            "extractor": "rules",
            "entailment": "rules",
            "uncertain_as_positive": False,
            "beta": 1.5,
            "xi": 1e-8,
            "both_empty": 1.0,
            "missing": "raise",
        },
        "weighted_findings": {"beta": 1.0},
        "radgraph_rules": {"beta": 2.0},
        "green_rules": {},
        "length": {},
        "repetition": {},
    }
    with_weights = ["radgraph", "radeval", "green", "sentence_sets"]  # of the user's: not built here
    assert [name for name in names("reward") if name not in with_weights] == [*settings]
    weighed = {name: own | {"weight": 1.0} for name, own in settings.items()}
    built = build(weighed, RulesLabeler(), references=["The heart is big.", "Clear."]).parts
    clinical = [name for name, part in zip(settings, built, strict=True) if part.reward.clinical]
    assert clinical == [name for name in clinical_names() if name not in with_weights]
    assert [name for name in with_weights if name in clinical_names()] == ["radgraph", "radeval", "green"]
