"""What a training history says is going wrong, and which parameter to change.

Two kinds of trouble: a run that cannot learn (`radrl.training.watching.cannot_learn`, and here numbers that
are none), and a reward that climbs because it is being hacked (`radrl.training.watching.reward_hacking`).
A training that has ended is also asked whether its curve still moved. Pure functions of the rows of a
history; the same rows give the same findings at its end and from the CSV afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from radrl.training.watching import cannot_learn, reward_hacking
from radrl.training.watching.history_rows import NotFinite, Row, is_gap, require_finite
from radrl.training.watching.levelling import REWARD, State, last_third, levelling
from radrl.training.watching.mends import SEVERITIES, Arm, Mend, Rule, Severity, Symptom
from radrl.training.watching.reward_hacking import falling_f1


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


def diagnose(rows: Iterable[Row], arm: Arm | None = None, *, ended: bool = True) -> list[Finding]:
    """Read a history.

    Args:
        rows: of `radrl.training.callbacks.history`, or of its CSV; `step` and what was logged, by name.
        arm: its entry under `arms` in params.yaml; no mend names what it has. Without it all are named.
        ended: whether the last row is the training's last.

    Returns:
        The findings, gravest first.
    """
    kept = sorted(rows, key=lambda row: row["step"])
    rules = (*_RULES, *_AT_THE_END) if ended else _RULES
    found = [_finding(symptom, arm) for rule in rules if (symptom := rule(kept)) is not None]
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))


def _not_finite(rows: Sequence[Row]) -> Symptom | None:
    for row in rows:
        try:
            # in a CSV NaN is a gap; infinite it cannot be by accident
            require_finite({name: value for name, value in row.items() if not is_gap(value)})
        except NotFinite as error:
            says, _, mend = str(error).partition(" Lower ")
            return Symptom("not_finite", "stop", [row], says, Mend(f"Lower {mend}."))
    return None


_RULES: Final[tuple[Rule, ...]] = (_not_finite, *cannot_learn.RULES, *reward_hacking.RULES)


def _finding(symptom: Symptom, arm: Arm | None) -> Finding:
    first, last = (int(symptom.rows[i]["step"]) for i in (0, -1))
    return Finding(symptom.name, symptom.severity, first, last, symptom.says, symptom.mend.for_arm(arm))


def _rising(rows: Sequence[Row]) -> Symptom | None:
    found = levelling(rows)
    if found.state is not State.RISING:
        return None
    more = Mend("Raise training.steps (training.epochs, where passes are counted).")
    return Symptom("still_rising", "note", last_third(rows), f"{found}.", more)


def _falling(rows: Sequence[Row]) -> Symptom | None:
    """A reward that falls is none: without watched films nobody knows what is lost."""
    found = levelling(rows)
    if found.state is not State.FALLING or found.column == REWARD or falling_f1(rows):
        return None
    less = Mend(
        options=("train fewer steps", "lower training.learning_rate", "raise training.kl"),
    )
    return Symptom("still_falling", "note", last_third(rows), f"{found}.", less)


_AT_THE_END: Final[tuple[Rule, ...]] = (_rising, _falling)
