"""What stages are started for, a study or one `radrl repro`: a variable tells them, and they the record."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

VARIABLE: Final = "RADRL_STUDY"
"""Name of the environment's variable; a name that the user gives stays."""


def now(command: str) -> str:
    """A name for what one call of a command starts.

    Args:
        command: such as ``repro``.
    """
    return f"{command} {time.strftime('%Y-%m-%d %H:%M:%S')}"


def name(variables: Mapping[str, str]) -> str:
    """The name that the environment gives, empty where it gives none.

    Args:
        variables: of the environment.

    Example:
        >>> name({"RADRL_STUDY": 'the "wide" one'})
        "the 'wide' one"
    """
    return variables.get(VARIABLE, "").replace('"', "'")  # a search for it puts it between double ones
