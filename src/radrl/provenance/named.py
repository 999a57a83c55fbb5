"""Which parts params.yaml names for a stage: their code is the stage's, that of the others is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def named_modules(stage: str, params: Mapping[str, Any], arm: str | None = None) -> list[str]:
    """Modules of the parts that a stage works with.

    Args:
        stage: its name.
        params: params.yaml.
        arm: of a stage that runs for each arm.

    Returns:
        Their full names.
    """
    return []
