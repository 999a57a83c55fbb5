"""What a history shows, and which parameter to change: a mend's options, less those that an arm follows.

An arm is its entry under `arms` in params.yaml; without one every option is told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from radrl.training.watching.history_rows import Row

Arm = Mapping[str, Any]
Option = Callable[[Arm | None], str]
"""What to do, for an arm; empty where the arm leaves nothing to do."""


@dataclass(frozen=True, slots=True)
class Mend:
    """What a finding advises.

    Args:
        lead: in front of the options; all of the mend where it has none.
        options: in the order they are told; a text is one for every arm.
        otherwise: told to an arm that is left without an option.
    """

    lead: str = ""
    options: Sequence[str | Option] = ()
    otherwise: str = "lower training.learning_rate"

    def for_arm(self, arm: Arm | None) -> str:
        """The mend for an arm, in sentences."""
        if not self.options:
            return self.lead
        texts = [option if isinstance(option, str) else option(arm) for option in self.options]
        advice = either([text for text in texts if text] or [self.otherwise])
        return f"{self.lead} {advice}." if self.lead else f"{advice[:1].upper()}{advice[1:]}."


def either(texts: Sequence[str]) -> str:
    """Join options, which may contain an "or" themselves.

    Example:
        >>> either(["raise a or b", "lower c", "add d"])
        'raise a or b, lower c, or add d'
    """
    *others, last = texts
    return f"{', '.join(others)}, or {last}" if others else last


def where(open_to: Callable[[Arm], bool], text: str) -> Option:
    """An option of the arms that meet a condition."""
    return lambda arm: text if arm is None or open_to(arm) else ""


def start(point: str) -> Option:
    """To start from a point, for arms that start elsewhere."""
    return where(lambda arm: arm.get("start") != point, f"set the arm's start to {point}")


def selection(*names: str, text: str = "set the arm's selection to {}") -> Option:
    """To be given other films.

    Args:
        names: of the selections to choose from.
        text: with `{}` for those of them that are not the arm's.
    """
    return _among(names, text, lambda arm, name: arm.get("selection") == name)


def reward(*parts: str, text: str) -> Option:
    """To take other parts into the reward.

    Args:
        parts: to choose from.
        text: with `{}` for those of them that the arm's reward lacks.
    """
    return _among(parts, text, earns, prefix="reward.")


def earns(arm: Arm, part: str) -> bool:
    """Whether an arm's reward has a part; one set to nothing is left out."""
    return (arm.get("reward") or {}).get(part) is not None


def has_oracle(arm: Arm) -> bool:
    """Whether reference reports teach an arm."""
    return arm.get("oracle", "none") not in (None, "none")


def redraws(arm: Arm) -> bool:
    """Whether an arm itself says what becomes of its groups of equal rewards."""
    return (arm.get("training") or {}).get("dynamic_sampling") is not None


def _among(
    names: Sequence[str], text: str, follows: Callable[[Arm, str], bool], *, prefix: str = ""
) -> Option:
    def option(arm: Arm | None) -> str:
        left = [f"{prefix}{name}" for name in names if arm is None or not follows(arm, name)]
        return text.format(" or ".join(left)) if left else ""

    return option


Severity = Literal["stop", "warning", "note"]
SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)
"""``stop``: nothing is learnt, end the run; ``warning``: act; ``note``: have a look."""


@dataclass(frozen=True, slots=True)
class Symptom:
    """One thing that a history shows.

    Args:
        name: of the rule.
        severity: one of `SEVERITIES`.
        rows: where it holds, at least one.
        says: a sentence with the numbers.
        mend: what can be done about it.
    """

    name: str
    severity: Severity
    rows: Sequence[Row]
    says: str
    mend: Mend


Rule = Callable[[Sequence[Row]], Symptom | None]
"""Reads a history in the order of its steps."""
