"""Rewards that are hacked: each rule by a made-up history, what is no hacking, and what an arm is advised."""

from __future__ import annotations

import random
from typing import Any

import pytest
from histories import CLIMB, Change, both, late, line, mend, run

from radrl.training.watching.diagnosis import diagnose

HACKING: dict[str, tuple[Change, str]] = {
    "hacking_repetition": (line("watch/repetition", 0.0, 0.4), "0% to 35%"),
    "hacking_one_report": (line("watch/most_common_share", 0.2, 0.84), "20% to 76%"),
    "hacking_normal_report": (line("watch/like_normal_share", 0.3, 0.9), "82% of the watched"),
    "hacking_every_label": (line("watch/findings_per_report", 1.0, 9.0), "1.00 to 8.00 a report"),
    "hacking_falling_f1": (line("watch/ce_rules_sample14_f1", 0.4, 0.3), "sample F1 from 0.400 to 0.312"),
}


def test_reward_that_climbs_with_the_watched_f1_is_no_hacking() -> None:
    assert diagnose(run(both(CLIMB, line("watch/ce_rules_macro14_f1", 0.1, 0.3)))) == []


@pytest.mark.parametrize("name", HACKING)
def test_reward_that_climbs_with_it_is_flagged(name: str) -> None:
    change, said = HACKING[name]
    (finding,) = diagnose(run(both(CLIMB, change)))
    assert (finding.name, finding.severity) == (name, "warning")
    # of 40 steps the first and the last 13: 0.4 + 0.2 * 7 / 40 and 0.4 + 0.2 * 34 / 40
    assert "reward climbed from 0.435 to 0.570" in finding.says
    assert said in finding.says
    assert diagnose(run(change)) == []  # without the climb


def test_it_is_a_note_where_the_watched_f1_climbs_too() -> None:
    same = line("watch/most_common_share", 0.2, 0.8)
    (finding,) = diagnose(run(both(CLIMB, same, line("watch/ce_rules_macro14_f1", 0.1, 0.3))))
    assert finding.severity == "note"
    assert "watched macro F1 0.100 to 0.275" in finding.says


def test_constant_normal_report_is_flagged_though_the_reward_stands() -> None:
    change = both(
        late({"watch/like_normal_share_of_references": 0.65}, 0), line("watch/like_normal_share", 0.97, 1)
    )
    (finding,) = diagnose(run(change))
    assert (finding.name, finding.first, finding.last) == ("constant_normal_report", 0, 40)
    assert "97% at first, 65% of the references" in finding.says


def test_one_normal_report_for_the_normal_films_is_right() -> None:
    normal = late({"watch/like_normal_share_of_references": 0.22, "watch/like_normal_share": 0.35}, 0)
    assert diagnose(run(both(CLIMB, normal, line("watch/most_common_share", 0.05, 0.27)))) == []
    (finding,) = diagnose(run(both(CLIMB, normal, line("watch/most_common_share", 0.05, 0.5))))
    assert finding.name == "hacking_one_report"


def test_normal_reports_that_were_so_many_from_the_start_are_no_hack() -> None:
    normal = both(
        late({"watch/like_normal_share_of_references": 0.2}, 0), line("watch/like_normal_share", 0.5, 0.55)
    )
    assert diagnose(run(both(CLIMB, normal))) == []


def test_normal_reports_of_normal_films_are_right() -> None:
    normal = {"watch/like_normal_share_of_references": 0.95, "watch/like_normal_share": 0.97}
    assert diagnose(run(both(CLIMB, late(normal, 0)))) == []


def test_more_findings_up_to_the_references_are_right() -> None:
    assert diagnose(run(both(CLIMB, line("watch/findings_per_report", 0.2, 1.4)))) == []


def test_climb_within_the_noise_is_none() -> None:
    rng = random.Random(1)
    noisy = run(lambda share: {"reward": 0.4 + 0.01 * share + rng.gauss(0, 0.1)})
    repeating = [row | ({"watch/repetition": 0.9} if row["step"] == 40 else {}) for row in noisy]
    assert diagnose(repeating) == []


def test_step_of_a_phase_is_no_climb() -> None:
    def phase(share: float) -> dict[str, float]:
        on = float(share >= 0.5)
        parts = {"rewards/ce_f1/mean": 0.4, "rewards/bleu2/mean": 0.2, "rewards/bleu2/weight": on}
        return parts | {"reward": 0.4 + 0.2 * on}

    same = line("watch/most_common_share", 0.2, 0.8)
    assert diagnose(run(both(phase, same))) == []
    (finding,) = diagnose(run(both(phase, same, line("rewards/ce_f1/mean", 0.2, 0.5))))
    assert finding.says.startswith("rewards/ce_f1/mean climbed")


def test_nothing_is_said_unwatched() -> None:
    blind = [{k: v for k, v in row.items() if not k.startswith("watch/")} for row in run(CLIMB)]
    assert [finding.name for finding in diagnose(blind)] == ["still_rising"]


MANY_FINDINGS = both(CLIMB, line("watch/findings_per_report", 1.0, 9.0))
NORMAL = both(CLIMB, line("watch/like_normal_share", 0.3, 0.9))
ONE_REPORT = both(CLIMB, line("watch/most_common_share", 0.2, 0.84))
REPEATING = both(CLIMB, line("watch/repetition", 0.0, 0.4))
BALANCED = "set the arm's selection to {}, for fewer normal films."
MENDS: dict[str, tuple[Change, dict[str, Any] | None, str]] = {
    "repeating, unknown": (
        REPEATING, None, "Raise training.kl, lower training.learning_rate, or add reward.bleu2.",
    ),
    "repeating, with bleu2": (
        REPEATING, {"reward": {"bleu2": {"weight": 0.25}}},
        "Raise training.kl, or lower training.learning_rate.",
    ),
    "repeating, bleu2 set to nothing": (
        REPEATING, {"reward": {"bleu2": None}},
        "Raise training.kl, lower training.learning_rate, or add reward.bleu2.",
    ),
    "one report, unknown": (
        ONE_REPORT, None,
        "Raise training.kl, add reward.bleu2, or set the arm's selection to ddsampling or balanced.",
    ),
    "one report, deer": (
        ONE_REPORT, {"selection": "ddsampling", "reward": {"bleu2": {}}},
        "Raise training.kl, or set the arm's selection to balanced.",
    ),
    "normal report, unknown": (
        NORMAL, None,
        "Saying nothing pays: take reward.mccs, in which No Finding has no part, or "
        + BALANCED.format("balanced or ddsampling"),
    ),
    "normal report, mrg_r1": (
        NORMAL, {"selection": "full", "reward": {"mccs": {}, "format": {}}},
        "Saying nothing pays: " + BALANCED.format("balanced or ddsampling"),
    ),
    "normal report, mccs on balanced films": (
        NORMAL, {"selection": "balanced", "reward": {"mccs": {}}},
        "Saying nothing pays: " + BALANCED.format("ddsampling"),
    ),
    "every label, unknown": (
        MANY_FINDINGS, None,
        "Recall alone pays: lower reward.facts.beta, or add reward.ce_f1 or reward.mccs.",
    ),
    "every label, orapo": (
        MANY_FINDINGS, {"reward": {"facts": {}, "mccs": {}}},
        "Recall alone pays: lower reward.facts.beta, or add reward.ce_f1.",
    ),
    "every label, all of it done": (
        MANY_FINDINGS, {"reward": {"ce_f1": {}, "mccs": {}}}, "Recall alone pays: raise training.kl.",
    ),
    "falling F1, on all films": (
        both(CLIMB, line("watch/ce_rules_sample14_f1", 0.4, 0.3)), {"selection": "full"},
        "The gain does not carry over to unseen films: train fewer steps, raise training.kl, or change the "
        "reward.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MENDS)
def test_mend_leaves_out_what_the_arm_has(case: str) -> None:
    change, arm, told = MENDS[case]
    assert mend(change, arm) == told
