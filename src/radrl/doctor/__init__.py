"""What `radrl doctor` looks at: this machine, its packages and programs, what a recipe names, the record.

Lives here: what is there, what is not, what that costs, and the mend. Nothing is loaded, and nothing is sent
but a question to the MLflow server that the configuration names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

State = Literal["there", "without", "lacking"]
"""Of a thing: there; not there, which costs something; not there although the recipe asks for it."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing and how it stands.

    Args:
        name: of it, such as `git` or `policy.path`.
        said: its version, size or place, or what is wrong.
        state: how it stands.
        costs: what cannot be had without it; nothing where it is there.
        mend: how to get it.
    """

    name: str
    said: str
    state: State = "there"
    costs: str = ""
    mend: str = ""


def mends(findings: Iterable[Check]) -> list[str]:
    """A line each for a message: what is wrong and how to mend it.

    Args:
        findings: of what lacks.
    """
    return [f"  {one.name}: {one.said}. Mend: {one.mend}" for one in findings]


def size(count: float) -> str:
    """Bytes in the largest unit that leaves 1 or more.

    Example:
        >>> size(3 * 2**30)
        '3.0 GiB'
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
