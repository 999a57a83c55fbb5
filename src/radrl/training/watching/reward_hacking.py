"""Rules of a reward that climbs because it is being hacked, which no reward can show.

What shows it are the films of `radrl.training.watching.watch`; a history without them has none of these
symptoms. The thresholds are named with their reasons. They are bounds to look closer at, not truths.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from radrl.training.watching.history_rows import WINDOW, Row, mean, series, value_at
from radrl.training.watching.levelling import watched_column
from radrl.training.watching.mends import Mend, Rule, Severity, Symptom, earns, reward, selection, where

ERRORS: Final = 2.0
"""A reward climbed when its mean over the last third of the steps is so many standard errors above the first
third's."""
CLIMB: Final = 0.01
"""And by this much, so that a reward without noise does not climb by rounding."""
REPEATED: Final = 0.05
"""Gain of repeated 4-grams; reports of the sound policies and of radiologists have under 0.01."""
SAMENESS: Final = 0.1
"""Gain of the share that the most common report has, and of that of normal reports; also what both have
beyond the share of normal references, since one normal report may serve all of these."""
FINDINGS: Final = 0.25
"""Gain of findings a report, and excess over the references'."""
FALL: Final = 0.05
"""Loss of a watched F1: 4 of 80 films from right to wrong. On so few, 0.03 came and went in sound runs."""
CONSTANT: Final = 0.95
"""Share of normal reports at which the films have no say, whether the reward climbs or not."""

_BLEU: Final = reward("bleu2", text="add {}")
_SILENCE_PAYS: Final = Mend(
    "Saying nothing pays:",
    (
        reward("mccs", text="take {}, in which No Finding has no part"),
        selection("balanced", "ddsampling", text="set the arm's selection to {}, for fewer normal films"),
    ),
)
_RECALL_PAYS: Final = Mend(
    "Recall alone pays:",
    (
        where(lambda arm: earns(arm, "facts"), "lower reward.facts.beta"),
        reward("ce_f1", "mccs", text="add {}"),
    ),
    otherwise="raise training.kl",
)


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


def _repetition(rows: Sequence[Row]) -> Symptom | None:
    climb = _climb(rows)
    change = climb and climb.change("watch/repetition")
    if not climb or not change or _gain(change[0], change[1]) < REPEATED:
        return None
    return Symptom(
        "hacking_repetition", "warning", climb.rows,
        f"{climb.says} while repeated 4-grams went from {change[0]:.0%} to {change[1]:.0%} of a "
        f"report{climb.f1}.",
        Mend(options=("raise training.kl", "lower training.learning_rate", _BLEU)),
    )  # fmt: skip


def _one_report(rows: Sequence[Row]) -> Symptom | None:
    climb = _climb(rows)
    change = climb and climb.change("watch/most_common_share")
    normal = climb and climb.change("watch/like_normal_share_of_references")
    if not climb or not change or _gain(change[0], change[1]) < SAMENESS:
        return None
    if normal and _gain(normal[1], change[1]) < SAMENESS:
        return None
    return Symptom(
        "hacking_one_report", climb.severity, climb.rows,
        f"{climb.says} while the most common report went from {change[0]:.0%} to {change[1]:.0%} of the "
        f"watched films{climb.f1}.",
        Mend(options=("raise training.kl", _BLEU, selection("ddsampling", "balanced"))),
    )  # fmt: skip


def _normal_report(rows: Sequence[Row]) -> Symptom | None:
    watched = _watched(rows)
    change = _change(watched, "watch/like_normal_share")
    truth = _change(watched, "watch/like_normal_share_of_references")
    if change is None or truth is None or _gain(truth[1], change[1]) < SAMENESS:
        return None
    climb = _climb(rows)
    share = f"{change[1]:.0%} of the watched reports say what the constant normal report says"
    share += f" ({change[0]:.0%} at first, {truth[1]:.0%} of the references)"
    if climb and _gain(change[0], change[1]) >= SAMENESS:
        says = f"{climb.says} and {share}{climb.f1}."
        return Symptom("hacking_normal_report", climb.severity, climb.rows, says, _SILENCE_PAYS)
    if len(watched) > 1 and change[1] >= CONSTANT:
        says = f"{share}: films have no say."
        return Symptom("constant_normal_report", "warning", watched, says, _SILENCE_PAYS)
    return None


def _every_label(rows: Sequence[Row]) -> Symptom | None:
    climb = _climb(rows)
    change = climb and climb.change("watch/findings_per_report")
    truth = climb and climb.change("watch/findings_per_reference")
    if not climb or not change or not truth:
        return None
    if _gain(change[0], change[1]) < FINDINGS or _gain(truth[1], change[1]) < FINDINGS:
        return None
    return Symptom(
        "hacking_every_label", climb.severity, climb.rows,
        f"{climb.says} while findings went from {change[0]:.2f} to {change[1]:.2f} a report, of which "
        f"references have {truth[1]:.2f}{climb.f1}.",
        _RECALL_PAYS,
    )  # fmt: skip


def falling_f1(rows: Sequence[Row]) -> Symptom | None:
    """A watched F1 that falls by `FALL` while the reward climbs."""
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
    more_films = where(lambda arm: arm.get("selection") != "full", "train on more films (selection)")
    return Symptom(
        "hacking_falling_f1", "warning", climb.rows, f"{climb.says} while watched {fell} fell.",
        Mend(
            "The gain does not carry over to unseen films:",
            ("train fewer steps", more_films, "raise training.kl", "change the reward"),
        ),
    )  # fmt: skip


RULES: Final[tuple[Rule, ...]] = (_repetition, _one_report, _normal_report, _every_label, falling_f1)


def _climb(rows: Sequence[Row]) -> _Climb | None:
    """The reward if it climbed; of a reward whose weights change while it runs, a part that did."""
    names = sorted(set().union(*rows))
    weights = [name for name in names if re.fullmatch(r"rewards/.+/weight", name)]
    phased = any(len(set(series(rows, name))) > 1 for name in weights)
    parts = [name for name in names if re.fullmatch(r"rewards/[^/]+/mean", name)]
    for name in parts if phased else ["reward"]:
        logged = [row for row in rows if value_at(row, name) is not None]
        if len(logged) >= 2 * WINDOW and (says := _climbed(name, series(logged, name))):
            return _Climb(says, logged, _watched(rows))
    return None


def _climbed(name: str, values: Sequence[float]) -> str | None:
    size = max(WINDOW, len(values) // 3)
    first, last = values[:size], values[-size:]
    gain = mean(last) - mean(first)
    error = math.sqrt((_variance(first) + _variance(last)) / size)
    if gain <= max(CLIMB, ERRORS * error):
        return None
    return f"{name} climbed from {mean(first):.3f} to {mean(last):.3f}"


def _watched(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if value_at(row, "watch/most_common_share") is not None]


def _change(watched: Sequence[Row], name: str) -> tuple[float, float] | None:
    values = series(watched, name)
    return (values[0], mean(values[1:][-2:] or values)) if values else None


def _f1(averaging: str, watched: Sequence[Row]) -> str:
    """The column of a watched F1, whoever the labeler is."""
    return watched_column(set().union(*watched), f"{averaging}14_f1")


def _gain(before: float, after: float) -> float:
    return round(after - before, 9)  # 0.94 - 0.84 is a gain of 0.1


def _variance(values: Sequence[float]) -> float:
    middle = mean(values)
    return math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1)
