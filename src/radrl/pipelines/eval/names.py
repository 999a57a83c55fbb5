"""Names of metrics in params.yaml, and what to say of a wrong one."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


def unknown_metric(name: str, valid: Sequence[str], *, key: str) -> str:
    """What to say of a metric's name that is none.

    Args:
        name: as given.
        valid: the names there are.
        key: where in params.yaml it stands.

    Returns:
        The message, with the likeliest meaning and every valid name.
    """
    close = difflib.get_close_matches(name, valid, n=1)
    guess = f"; did you mean {close[0]!r}?" if close else "."
    return f"{key}: {name!r} is no metric{guess} Valid names: {', '.join(valid)}"
