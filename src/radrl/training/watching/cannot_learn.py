"""Rules of a run that cannot learn: no variance, no gradient, outputs cut off, entropy or KL out of hand.

The thresholds are named with their reasons. They are bounds to look closer at, not truths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from radrl.training.watching.history_rows import WINDOW, Row, mean, series, value_at
from radrl.training.watching.mends import (
    Mend,
    Rule,
    Severity,
    Symptom,
    earns,
    has_oracle,
    redraws,
    reward,
    selection,
    start,
    where,
)

ALIKE: Final = "groups/equal_advantage_share"
"""Of the whole reward, since wording teaches too where findings are all right or all wrong."""
STREAK: Final = 5
"""Steps running without any variance or gradient: with two prompts a step, half of whose groups are equal, it
comes about once in a thousand steps."""
FEW_GROUPS: Final = 0.8
"""Share of groups without variance: at more, four of five rollouts are written and scored for nothing."""
CUT_OFF: Final = 0.2
"""Share of outputs cut off: a tenth and less is the tail of lengths; a fifth is what the limit does."""
COLLAPSED: Final = 0.2
"""Entropy as a share of the first steps': below it, rollouts of one film are nearly the same text."""
SPREAD: Final = 1.5
"""Entropy as a multiple of the first steps': the laptop policy's language decayed at 1.6."""
FAR: Final = 0.5
"""KL to the start, nats a token: sound runs of this size end at 0.1; at 0.5 a 50-token report is e^25 less
likely to the start than to the policy."""

_MORE_VARIETY: Final = "raise training.temperature or training.rollouts"
_REDRAW: Final = where(
    lambda arm: not redraws(arm) and not has_oracle(arm),
    "let training.dynamic_sampling redraw such groups",
)
_TOO_HARD: Final = Mend(
    "The task is too hard for this start:",
    (
        start("sft"),
        where(lambda arm: not has_oracle(arm), "give the arm OraPO's oracle"),
        where(
            lambda arm: earns(arm, "accuracy") and not earns(arm, "ce_f1") and not earns(arm, "facts"),
            "take a reward with partial credit (reward.ce_f1 or reward.facts in place of accuracy)",
        ),
    ),
    otherwise=_MORE_VARIETY,  # one rollout that earns something gives its group variance
)
_TOO_ALIKE: Final = Mend(
    "The rollouts of a film are too alike:",
    (
        _MORE_VARIETY,
        selection("ddsampling"),
        reward("bleu2", text="add a finer part to the reward ({})"),
        _REDRAW,
    ),
)
_NOTHING_TRAINS: Final = (
    "Rewards differ, so no trained weight has a part in the loss: look at training.tunes, "
    "training.lora.targets, and training.mask_truncated where all outputs are cut off."
)


def _no_variance(rows: Sequence[Row]) -> Symptom | None:
    streak = _streak(rows, lambda row: value_at(row, ALIKE) == 1)
    if streak is None:
        return None
    severity = _while_it_lasts(streak, rows)
    says = f"in {len(streak)} steps running every group has equal rewards: no report is better than another"
    if _by_oracle(streak):
        return Symptom(
            "oracle_alone", "note", streak, f"{says}; the reference reports alone teach.",
            Mend("This is what the oracle is for. Where it lasts,", ("raise its w_max", start("sft"))),
        )  # fmt: skip
    if all(value_at(row, "groups/all_zero_share") == 1 for row in streak):
        return Symptom("no_variance_all_zero", severity, streak, f"{says}, all have 0.", _TOO_HARD)
    return Symptom("no_variance_all_equal", severity, streak, f"{says}, though not all have 0.", _TOO_ALIKE)


def _by_oracle(rows: Sequence[Row]) -> bool:
    """Whether in each of these steps a reference report was preferred over a rollout."""
    return all((value_at(row, "oracle/pairs") or 0) > 0 for row in rows)


def _little_variance(rows: Sequence[Row]) -> Symptom | None:
    last = series(rows[-WINDOW:], ALIKE)
    if len(last) < WINDOW or mean(last) < FEW_GROUPS or _no_variance(rows) or _by_oracle(rows[-WINDOW:]):
        return None
    return Symptom(
        "little_variance", "warning", rows[-WINDOW:],
        f"{mean(last):.0%} of the groups have equal rewards and teach nothing.",
        Mend(options=(selection("ddsampling"), _MORE_VARIETY, _REDRAW)),
    )  # fmt: skip


def _no_gradient(rows: Sequence[Row]) -> Symptom | None:
    streak = _streak(rows, lambda row: value_at(row, "loss") == 0 and value_at(row, "grad_norm") == 0)
    if streak is None:
        return None
    equal = all(value_at(row, ALIKE) == 1 for row in streak)
    return Symptom(
        "no_gradient", _while_it_lasts(streak, rows), streak,
        f"loss and gradient are 0 in {len(streak)} steps running: no weight moves.",
        Mend("The groups have no variance; see there." if equal else _NOTHING_TRAINS),
    )  # fmt: skip


def _truncated(rows: Sequence[Row]) -> Symptom | None:
    last = series(rows[-WINDOW:], "completions/clipped_ratio")
    if len(last) < STREAK or mean(last) <= CUT_OFF:
        return None
    before = mean(series(rows, "completions/clipped_ratio")[:WINDOW])
    grown = "The policy no longer ends its reports: raise training.kl or lower training.learning_rate."
    return Symptom(
        "truncated", "warning", rows[-WINDOW:],
        f"{mean(last):.0%} of the outputs are cut off at training.max_new_tokens ({before:.0%} at first).",
        Mend(grown if before <= CUT_OFF else "Raise training.max_new_tokens."),
    )  # fmt: skip


def _entropy(rows: Sequence[Row]) -> Symptom | None:
    logged = [row for row in rows if value_at(row, "entropy") is not None]
    if len(logged) < 2 * WINDOW:
        return None
    first, last = (mean(series(part, "entropy")) for part in (logged[:WINDOW], logged[-WINDOW:]))
    says = f"entropy went from {first:.3f} to {last:.3f} nats a token."
    if last < COLLAPSED * first:
        return Symptom(
            "entropy_collapse", "warning", logged[-WINDOW:], says,
            Mend(
                "Rollouts become one text:",
                ("raise training.kl or training.clip_high", "lower training.learning_rate"),
            ),
        )  # fmt: skip
    if last > SPREAD * first:
        return Symptom(
            "entropy_rise", "warning", logged[-WINDOW:], says,
            Mend(
                "The language decays:",
                ("raise training.kl", "lower training.learning_rate", "train fewer steps"),
            ),
        )  # fmt: skip
    return None


def _kl(rows: Sequence[Row]) -> Symptom | None:
    last = series(rows[-WINDOW:], "kl")
    if len(last) < STREAK or mean(last) <= FAR:
        return None
    return Symptom(
        "kl_blow_up", "warning", rows[-WINDOW:],
        f"KL to the start is {mean(last):.2f} nats a token: little of its language is left.",
        Mend("Raise training.kl, or lower training.learning_rate or training.steps."),
    )  # fmt: skip


RULES: Final[tuple[Rule, ...]] = (_no_variance, _no_gradient, _little_variance, _truncated, _entropy, _kl)


def _streak(rows: Sequence[Row], holds: Callable[[Row], bool]) -> Sequence[Row] | None:
    """The last run of steps in which something holds, if it is `STREAK` long; looks alone are no steps."""
    best: list[Row] | None = None
    run: list[Row] = []
    for row in rows:
        if value_at(row, "loss") is None and value_at(row, ALIKE) is None:
            continue
        run = [*run, row] if holds(row) else []
        best = run if len(run) >= STREAK else best
    return best


def _while_it_lasts(streak: Sequence[Row], rows: Sequence[Row]) -> Severity:
    """What is over by itself is no reason to stop."""
    return "stop" if streak[-1]["step"] == rows[-1]["step"] else "note"
