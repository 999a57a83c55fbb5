"""What a training history says is going wrong, and which parameter to change.

Two kinds of trouble: a run that cannot learn (groups without variance, no gradient, outputs cut off, entropy
or KL out of hand, numbers that are none), and a reward that climbs because it is being hacked, which no
reward can show and `radrl.training.watch` can. Pure functions of the rows of a history; the same rows give
the same findings while training runs, at its end, and from the CSV afterwards.

A number is absent from a row where it was not logged, NaN where the row comes from a CSV; both are a gap.
The thresholds are named below with their reasons. They are bounds to look closer at, not truths.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

Severity = Literal["stop", "warning", "note"]
SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)
"""``stop``: nothing is learnt, end the run; ``warning``: act; ``note``: have a look."""

Row = Mapping[str, Any]

STREAK: Final = 5
"""Steps running without any variance or gradient: with two prompts a step, half of whose groups are equal, it
comes about once in a thousand steps."""
WINDOW: Final = 10
"""Steps that a mean is taken over: a step's numbers rest on few prompts and swing."""
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
ERRORS: Final = 2.0
"""A reward climbed when its mean over the last third of the steps is so many standard errors above the first
third's."""
CLIMB: Final = 0.01
"""And by this much, so that a reward without noise does not climb by rounding."""
REPEATED: Final = 0.05
"""Gain of repeated 4-grams; reports of the sound policies and of radiologists have under 0.01."""
SAMENESS: Final = 0.1
"""Gain of the share that the most common report has, and excess of normal reports over the references'."""
FINDINGS: Final = 0.25
"""Gain of findings a report, and excess over the references'."""
FALL: Final = 0.03
"""Loss of a watched F1: 3 of 100 films from right to wrong."""
CONSTANT: Final = 0.95
"""Share of normal reports at which the films have no say, whether the reward climbs or not."""

FINITE: Final = ("loss", "grad_norm", "kl")
"""What must be a number at every step that logs it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a history says.

    Args:
        name: of the rule; a history has each at most once.
        severity: one of `SEVERITIES`.
        first: the step it began at.
        last: the last step it holds at.
        says: a sentence with the numbers.
        mend: which parameter to change, and how.
    """

    name: str
    severity: Severity
    first: int
    last: int
    says: str
    mend: str

    @property
    def steps(self) -> str:
        """Where it holds, in words."""
        return f"step {self.first}" if self.first == self.last else f"steps {self.first} to {self.last}"

    def __str__(self) -> str:
        return f"{self.name} ({self.severity}, {self.steps}): {self.says} {self.mend}"


class NotFinite(ArithmeticError):
    """Training produced a number that is none; the message names the step and the mend."""


def diagnose(rows: Iterable[Row]) -> list[Finding]:
    """Read a history.

    Args:
        rows: of `radrl.training.callbacks.history`, or of its CSV; `step` and what was logged, by name.

    Returns:
        The findings, gravest first.
    """
    kept = sorted(rows, key=lambda row: row["step"])
    found = [finding for rule in _RULES if (finding := rule(kept)) is not None]
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))


def require_finite(row: Row) -> None:
    """Refuse a step whose loss, gradient or KL is no number.

    Args:
        row: as the trainer logs it; TRL writes nothing (None) in place of a NaN.

    Raises:
        NotFinite: naming the step, the number and the mend.
    """
    for name in FINITE:
        if name in row and (row[name] is None or not math.isfinite(row[name])):
            value = "nan" if row[name] is None else row[name]
            raise NotFinite(
                f"{name} is {value} at step {row['step']}: the weights are spoilt and are not written. Lower "
                "training.learning_rate or training.gradient_clip, raise training.warmup_share, or set "
                "training.bf16 to false; the last checkpoint is from before"
            )


# --- a run that cannot learn -----------------------------------------------------------------------------


def _no_variance(rows: Sequence[Row]) -> Finding | None:
    streak = _streak(rows, lambda row: _at(row, "groups/zero_variance_share") == 1)
    if streak is None:
        return None
    severity = _while_it_lasts(streak, rows)
    says = f"in {len(streak)} steps running every group has equal rewards: no report is better than another"
    if _by_oracle(streak):
        return _finding(
            "oracle_alone", "note", streak, f"{says}; the reference reports alone teach.",
            "This is what the oracle is for. Where it lasts, raise its w_max or set the arm's start to sft.",
        )  # fmt: skip
    if all(_at(row, "groups/all_zero_share") == 1 for row in streak):
        return _finding(
            "no_variance_all_zero", severity, streak, f"{says}, all have 0.",
            "The task is too hard for this start: set the arm's start to sft or its oracle to OraPO's, or "
            "take a reward with partial credit (reward.ce_f1 or reward.facts in place of accuracy).",
        )  # fmt: skip
    return _finding(
        "no_variance_all_equal", severity, streak, f"{says}, though not all have 0.",
        "The rollouts of a film are too alike: raise training.temperature or training.rollouts, set the "
        "arm's selection to ddsampling, or add a finer part to its reward (reward.bleu2).",
    )  # fmt: skip


def _by_oracle(rows: Sequence[Row]) -> bool:
    """Whether in each of these steps a reference report was preferred over a rollout."""
    return all((_at(row, "oracle/pairs") or 0) > 0 for row in rows)


def _little_variance(rows: Sequence[Row]) -> Finding | None:
    last = _last(rows, "groups/zero_variance_share")
    if len(last) < WINDOW or _mean(last) < FEW_GROUPS or _no_variance(rows) or _by_oracle(rows[-WINDOW:]):
        return None
    return _finding(
        "little_variance", "warning", rows[-WINDOW:],
        f"{_mean(last):.0%} of the groups have equal rewards and teach nothing.",
        "Set the arm's selection to ddsampling, or raise training.temperature or training.rollouts.",
    )  # fmt: skip


def _no_gradient(rows: Sequence[Row]) -> Finding | None:
    streak = _streak(rows, lambda row: _at(row, "loss") == 0 and _at(row, "grad_norm") == 0)
    if streak is None:
        return None
    equal = all(_at(row, "groups/zero_variance_share") == 1 for row in streak)
    return _finding(
        "no_gradient", _while_it_lasts(streak, rows), streak,
        f"loss and gradient are 0 in {len(streak)} steps running: no weight moves.",
        "The groups have no variance; see there." if equal else
        "Rewards differ, so no trained weight has a part in the loss: look at training.tunes, "
        "training.lora.targets, and training.mask_truncated where all outputs are cut off.",
    )  # fmt: skip


def _truncated(rows: Sequence[Row]) -> Finding | None:
    last = _last(rows, "completions/clipped_ratio")
    if len(last) < STREAK or _mean(last) <= CUT_OFF:
        return None
    before = [value for row in rows[:WINDOW] if (value := _at(row, "completions/clipped_ratio")) is not None]
    grown = _mean(before) <= CUT_OFF
    return _finding(
        "truncated", "warning", rows[-WINDOW:],
        f"{_mean(last):.0%} of the outputs are cut off at training.max_new_tokens ({_mean(before):.0%} at "
        "first).",
        "The policy no longer ends its reports: raise training.kl or lower training.learning_rate."
        if grown else "Raise training.max_new_tokens.",
    )  # fmt: skip


def _entropy(rows: Sequence[Row]) -> Finding | None:
    logged = [row for row in rows if _at(row, "entropy") is not None]
    if len(logged) < 2 * WINDOW:
        return None
    first, last = (_mean([row["entropy"] for row in part]) for part in (logged[:WINDOW], logged[-WINDOW:]))
    says = f"entropy went from {first:.3f} to {last:.3f} nats a token."
    if last < COLLAPSED * first:
        return _finding(
            "entropy_collapse", "warning", logged[-WINDOW:], says,
            "Rollouts become one text: raise training.kl or training.clip_high, or lower "
            "training.learning_rate.",
        )  # fmt: skip
    if last > SPREAD * first:
        return _finding(
            "entropy_rise", "warning", logged[-WINDOW:], says,
            "The language decays: raise training.kl, lower training.learning_rate or train fewer steps.",
        )  # fmt: skip
    return None


def _kl(rows: Sequence[Row]) -> Finding | None:
    last = _last(rows, "kl")
    if len(last) < STREAK or _mean(last) <= FAR:
        return None
    return _finding(
        "kl_blow_up", "warning", rows[-WINDOW:],
        f"KL to the start is {_mean(last):.2f} nats a token: little of its language is left.",
        "Raise training.kl, or lower training.learning_rate or training.steps.",
    )  # fmt: skip


def _not_finite(rows: Sequence[Row]) -> Finding | None:
    for row in rows:
        try:
            # in a CSV NaN is a gap; infinite it cannot be by accident
            require_finite({name: value for name, value in row.items() if not _gap(value)})
        except NotFinite as error:
            says, _, mend = str(error).partition(" Lower ")
            return _finding("not_finite", "stop", [row], says, f"Lower {mend}.")
    return None


# --- a reward that is hacked -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Climb:
    """A reward that climbed, and what was watched meanwhile."""

    says: str
    rows: Sequence[Row]
    watched: Sequence[Row]

    def change(self, name: str) -> tuple[float, float] | None:
        """What stood at the first look and what at the last two, in the mean."""
        return _change(self.watched, name)

    @property
    def severity(self) -> Severity:
        """A note where the watched macro F1 climbs with the reward: then something is learnt besides."""
        f1 = self.change(_f1("macro", self.watched))
        return "note" if f1 and f1[1] - f1[0] > CLIMB else "warning"

    @property
    def f1(self) -> str:
        """How the watched macro F1 went, in words."""
        f1 = self.change(_f1("macro", self.watched))
        return f"; watched macro F1 {f1[0]:.3f} to {f1[1]:.3f}" if f1 else ""


def _repetition(rows: Sequence[Row]) -> Finding | None:
    climb = _climb(rows)
    change = climb and climb.change("watch/repetition")
    if not climb or not change or _gain(change[0], change[1]) < REPEATED:
        return None
    return _finding(
        "hacking_repetition", "warning", climb.rows,
        f"{climb.says} while repeated 4-grams went from {change[0]:.0%} to {change[1]:.0%} of a "
        f"report{climb.f1}.",
        "Raise training.kl, lower training.learning_rate, or add reward.bleu2.",
    )  # fmt: skip


def _one_report(rows: Sequence[Row]) -> Finding | None:
    climb = _climb(rows)
    change = climb and climb.change("watch/most_common_share")
    if not climb or not change or _gain(change[0], change[1]) < SAMENESS:
        return None
    return _finding(
        "hacking_one_report", climb.severity, climb.rows,
        f"{climb.says} while the most common report went from {change[0]:.0%} to {change[1]:.0%} of the "
        f"watched films{climb.f1}.",
        "Raise training.kl, add reward.bleu2, or set the arm's selection to ddsampling or balanced.",
    )  # fmt: skip


def _normal_report(rows: Sequence[Row]) -> Finding | None:
    watched = _watched(rows)
    change = _change(watched, "watch/like_normal_share")
    truth = _change(watched, "watch/like_normal_share_of_references")
    if change is None or truth is None or _gain(truth[1], change[1]) < SAMENESS:
        return None
    climb = _climb(rows)
    share = f"{change[1]:.0%} of the watched reports say what the constant normal report says"
    share += f" ({change[0]:.0%} at first, {truth[1]:.0%} of the references)"
    mend = (
        "Saying nothing pays: take reward.mccs, in which No Finding has no part, or set the arm's selection "
    )
    mend += "to balanced or ddsampling, which draw fewer normal films."
    if climb and change[1] > change[0]:
        return _finding(
            "hacking_normal_report", climb.severity, climb.rows, f"{climb.says} and {share}{climb.f1}.", mend
        )
    if len(watched) > 1 and change[1] >= CONSTANT:
        return _finding("constant_normal_report", "warning", watched, f"{share}: films have no say.", mend)
    return None


def _every_label(rows: Sequence[Row]) -> Finding | None:
    climb = _climb(rows)
    change = climb and climb.change("watch/findings_per_report")
    truth = climb and climb.change("watch/findings_per_reference")
    if not climb or not change or not truth:
        return None
    if _gain(change[0], change[1]) < FINDINGS or _gain(truth[1], change[1]) < FINDINGS:
        return None
    return _finding(
        "hacking_every_label", climb.severity, climb.rows,
        f"{climb.says} while findings went from {change[0]:.2f} to {change[1]:.2f} a report, of which "
        f"references have {truth[1]:.2f}{climb.f1}.",
        "Recall alone pays: lower reward.facts.beta, or take reward.ce_f1 or reward.mccs beside it.",
    )  # fmt: skip


def _falling_f1(rows: Sequence[Row]) -> Finding | None:
    climb = _climb(rows)
    if not climb:
        return None
    changes = {
        averaging: change
        for averaging in ("sample", "macro", "micro")
        if (change := climb.change(_f1(averaging, climb.watched))) and _gain(change[1], change[0]) >= FALL
    }
    if not changes:
        return None
    fell = " and ".join(f"{name} F1 from {a:.3f} to {b:.3f}" for name, (a, b) in changes.items())
    return _finding(
        "hacking_falling_f1", "warning", climb.rows, f"{climb.says} while watched {fell} fell.",
        "The gain does not carry over to unseen films: train fewer steps or on more films (selection), raise "
        "training.kl, or change the reward.",
    )  # fmt: skip


_RULES: Final[tuple[Callable[[Sequence[Row]], Finding | None], ...]] = (
    _not_finite,
    _no_variance,
    _no_gradient,
    _little_variance,
    _truncated,
    _entropy,
    _kl,
    _repetition,
    _one_report,
    _normal_report,
    _every_label,
    _falling_f1,
)


def _climb(rows: Sequence[Row]) -> _Climb | None:
    """The reward if it climbed; of a reward whose weights change while it runs, a part that did."""
    names = sorted(set().union(*rows))
    weights = [name for name in names if re.fullmatch(r"rewards/.+/weight", name)]
    phased = any(len({_at(row, name) for row in rows} - {None}) > 1 for name in weights)
    parts = [name for name in names if re.fullmatch(r"rewards/[^/]+/mean", name)]
    for name in parts if phased else ["reward"]:
        logged = [row for row in rows if _at(row, name) is not None]
        if len(logged) >= 2 * WINDOW and (says := _climbed(name, [row[name] for row in logged])):
            return _Climb(says, logged, _watched(rows))
    return None


def _climbed(name: str, values: Sequence[float]) -> str | None:
    size = max(WINDOW, len(values) // 3)
    first, last = values[:size], values[-size:]
    gain = _mean(last) - _mean(first)
    error = math.sqrt((_variance(first) + _variance(last)) / size)
    if gain <= max(CLIMB, ERRORS * error):
        return None
    return f"{name} climbed from {_mean(first):.3f} to {_mean(last):.3f}"


def _watched(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if _at(row, "watch/most_common_share") is not None]


def _change(watched: Sequence[Row], name: str) -> tuple[float, float] | None:
    values = [value for row in watched if (value := _at(row, name)) is not None]
    return (values[0], _mean(values[1:][-2:] or values)) if values else None


def _f1(averaging: str, watched: Sequence[Row]) -> str:
    """The column of a watched F1, whoever the labeler is."""
    names = sorted(set().union(*watched))
    return next((name for name in names if re.fullmatch(rf"watch/ce_.+_{averaging}14_f1", name)), "")


def _streak(rows: Sequence[Row], holds: Callable[[Row], bool]) -> Sequence[Row] | None:
    """The last run of steps in which something holds, if it is `STREAK` long; looks alone are no steps."""
    best: list[Row] | None = None
    run: list[Row] = []
    for row in rows:
        if _at(row, "loss") is None and _at(row, "groups/zero_variance_share") is None:
            continue
        run = [*run, row] if holds(row) else []
        best = run if len(run) >= STREAK else best
    return best


def _while_it_lasts(streak: Sequence[Row], rows: Sequence[Row]) -> Severity:
    """What is over by itself is no reason to stop."""
    return "stop" if streak[-1]["step"] == rows[-1]["step"] else "note"


def _last(rows: Sequence[Row], name: str) -> list[float]:
    return [value for row in rows[-WINDOW:] if (value := _at(row, name)) is not None]


def _at(row: Row, name: str) -> float | None:
    value = row.get(name)
    return float(value) if value is not None and math.isfinite(value) else None


def _gap(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _gain(before: float, after: float) -> float:
    return round(after - before, 9)  # 0.94 - 0.84 is a gain of 0.1


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _variance(values: Sequence[float]) -> float:
    mean = _mean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def _finding(name: str, severity: Severity, rows: Sequence[Row], says: str, mend: str) -> Finding:
    return Finding(name, severity, int(rows[0]["step"]), int(rows[-1]["step"]), says, mend)
