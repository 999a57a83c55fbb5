"""Runs that cannot learn: each rule by a made-up history, and what an arm is advised."""

from __future__ import annotations

from typing import Any

import pytest
from histories import EQUAL, Change, both, late, line, mend, run

from radrl.training.watching.diagnosis import diagnose

CUT = {"completions/clipped_ratio": 0.5}
CANNOT_LEARN: dict[str, tuple[Change, str, str, tuple[int, int], str]] = {
    "all 0": (
        late(EQUAL | {"groups/all_zero_share": 1.0}), "no_variance_all_zero", "stop", (36, 40), "too hard",
    ),
    "all 0 under an oracle": (
        late(EQUAL | {"groups/all_zero_share": 1.0, "oracle/pairs": 8.0}),
        "oracle_alone", "note", (36, 40), "raise its w_max",
    ),
    "all equal": (
        late(EQUAL | {"groups/all_zero_share": 0.0}), "no_variance_all_equal", "stop", (36, 40), "too alike",
    ),
    "most equal": (
        late({"groups/equal_advantage_share": 0.85}, 0), "little_variance", "warning", (31, 40), "85%",
    ),
    "no gradient": (
        late({"loss": 0.0, "grad_norm": 0.0}), "no_gradient", "stop", (36, 40), "training.lora.targets",
    ),
    "cut off": (late(CUT, 0), "truncated", "warning", (31, 40), "Raise training.max_new_tokens"),
    "cut off later": (late(CUT, 0.5), "truncated", "warning", (31, 40), "raise training.kl"),
    "collapse": (line("entropy", 0.8, 0.0), "entropy_collapse", "warning", (31, 40), "0.690 to 0.090"),
    "decay": (line("entropy", 0.8, 1.6), "entropy_rise", "warning", (31, 40), "The language decays"),
    "far": (line("kl", 0, 1), "kl_blow_up", "warning", (31, 40), "0.89 nats"),
}  # fmt: skip


@pytest.mark.parametrize("case", CANNOT_LEARN)
def test_it_is_named_with_steps_and_mend(case: str) -> None:
    change, name, severity, steps, said = CANNOT_LEARN[case]
    (finding,) = diagnose(run(change))
    assert (finding.name, finding.severity) == (name, severity)
    assert (finding.first, finding.last) == steps
    assert said in str(finding)
    assert str(finding).startswith(f"{name} ({severity}, steps {steps[0]} to {steps[1]}): ")


def test_four_steps_are_no_streak() -> None:
    assert diagnose(run(late(EQUAL, 0.92))) == []


def test_streak_that_ended_by_itself_is_a_note() -> None:
    (finding,) = diagnose(run(lambda share: EQUAL if 0.2 <= share < 0.5 else {}))
    assert (finding.name, finding.severity) == ("no_variance_all_equal", "note")
    assert (finding.first, finding.last) == (8, 19)


def test_no_gradient_for_want_of_variance_sends_there() -> None:
    equal, still = diagnose(run(late(EQUAL | {"loss": 0.0, "grad_norm": 0.0})))
    assert (equal.name, still.name) == ("no_variance_all_equal", "no_gradient")
    assert "groups have no variance" in still.mend


def test_outputs_that_were_not_counted_at_first_are_compared_with_the_first_counted() -> None:
    rows = [row if row["step"] > 20 else {"step": row["step"], "loss": 0.1} for row in run(late(CUT, 0))]
    (finding,) = diagnose(rows)
    assert "50% of the outputs are cut off at training.max_new_tokens (50% at first)" in finding.says


def test_gradient_of_a_loss_that_is_0_is_a_gradient() -> None:
    assert diagnose(run(late({"loss": 0.0}, 0))) == []


ALL_0 = late(EQUAL | {"groups/all_zero_share": 1.0})
MENDS: dict[str, tuple[Change, dict[str, Any] | None, str]] = {
    "all 0, unknown": (
        ALL_0, None,
        "The task is too hard for this start: set the arm's start to sft, give the arm OraPO's oracle, or "
        "take a reward with partial credit (reward.ce_f1 or reward.facts in place of accuracy).",
    ),
    "all 0, from base": (
        ALL_0, {"start": "base", "reward": {"accuracy": {}}},
        "The task is too hard for this start: set the arm's start to sft, give the arm OraPO's oracle, or "
        "take a reward with partial credit (reward.ce_f1 or reward.facts in place of accuracy).",
    ),
    "all 0, from sft": (
        ALL_0, {"start": "sft", "reward": {"mccs": {}}, "oracle": "none"},
        "The task is too hard for this start: give the arm OraPO's oracle.",
    ),
    "all 0, with an oracle": (
        ALL_0, {"start": "base", "reward": {"facts": {}}, "oracle": {"w_max": 0.15}},
        "The task is too hard for this start: set the arm's start to sft.",
    ),
    "all 0, all of it done": (
        ALL_0, {"start": "sft", "reward": {"ce_f1": {}}, "oracle": {"w_max": 0.15}},
        "The task is too hard for this start: raise training.temperature or training.rollouts.",
    ),
    "oracle alone, from sft": (
        both(ALL_0, late({"oracle/pairs": 8.0})), {"start": "sft", "oracle": {"w_max": 0.15}},
        "This is what the oracle is for. Where it lasts, raise its w_max.",
    ),
    "all equal, deer": (
        late(EQUAL), {"selection": "ddsampling", "reward": {"ce_f1": {}, "bleu2": {}}},
        "The rollouts of a film are too alike: raise training.temperature or training.rollouts, or let "
        "training.dynamic_sampling redraw such groups.",
    ),
    "most equal, ddsampling": (
        late({"groups/equal_advantage_share": 0.85}, 0), {"selection": "ddsampling"},
        "Raise training.temperature or training.rollouts, or let training.dynamic_sampling redraw such "
        "groups.",
    ),
    "most equal, redrawn": (
        late({"groups/equal_advantage_share": 0.85}, 0),
        {"selection": "ddsampling", "training": {"dynamic_sampling": {"mode": "redraw", "at_most": 2}}},
        "Raise training.temperature or training.rollouts.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MENDS)
def test_mend_leaves_out_what_the_arm_has(case: str) -> None:
    change, arm, told = MENDS[case]
    assert mend(change, arm) == told
