"""What is said of a name or value that is none of the choices: the nearest one, and those there are."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


def hint(key: str, valid: Iterable[str], called: str = "Valid keys") -> str:
    """What to write instead of a name that is none: the nearest one, if any, and all valid ones."""
    valid = list(valid)
    return f"{near(key, valid)} {called}: {', '.join(valid)}"


def near(name: str, valid: Iterable[str], otherwise: str = ".") -> str:
    """The end of a sentence on a name that is none: the nearest one, or `otherwise`."""
    close = difflib.get_close_matches(name, list(valid), n=1)
    return f"; did you mean {close[0]!r}?" if close else otherwise


def require_one_of(name: str, value: str, valid: Sequence[str]) -> None:
    """Refuse a value that is none of the valid ones.

    Args:
        name: what the value sets.
        value: as given.
        valid: what it may be.

    Raises:
        ValueError: naming the value and the valid ones.
    """
    if value not in valid:
        raise ValueError(f"{name} {value!r} is unknown; valid: {', '.join(valid)}")
