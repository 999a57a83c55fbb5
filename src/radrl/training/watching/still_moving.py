"""Rules of a training that ended while its curve still moved; they are asked at its end alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from radrl.training.watching.hacking import falling_f1
from radrl.training.watching.history_rows import Row
from radrl.training.watching.levelling import REWARD, State, last_third, levelling
from radrl.training.watching.mends import Mend
from radrl.training.watching.symptoms import Rule, Symptom


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


RULES: Final[tuple[Rule, ...]] = (_rising, _falling)
