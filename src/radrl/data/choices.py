"""One way to refuse a value that is none of the choices."""

from __future__ import annotations

from collections.abc import Sequence


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
