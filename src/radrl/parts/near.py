"""What is said of a name that is none: the nearest one, and those there are."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def hint(key: str, valid: Iterable[str], called: str = "Valid keys") -> str:
    """What to write instead of a name that is none: the nearest one, if any, and all valid ones."""
    valid = list(valid)
    return f"{near(key, valid)} {called}: {', '.join(valid)}"


def near(name: str, valid: Iterable[str]) -> str:
    """The end of a sentence on a name that is none: the nearest one, if any."""
    close = difflib.get_close_matches(name, list(valid), n=1)
    return f"; did you mean {close[0]!r}?" if close else "."
