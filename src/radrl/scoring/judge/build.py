"""The judge that params.yaml names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from radrl.parts.find import find
from radrl.scoring.judge.base import Judge


def build(settings: Mapping[str, Any], *, structured: Mapping[str, Any] | None = None) -> Judge:
    """Build a judge.

    Args:
        settings: `backend`, the name of a judge, and what that takes.
        structured: JSON schema of the answers, for a judge that can be held to one.

    Returns:
        The judge; nothing is sent or loaded yet.

    Raises:
        radrl.parts.find.PartError: for an unknown backend.
        ScoringError: when the judge refuses its settings.
    """
    own = {name: value for name, value in settings.items() if name != "backend"}
    judge: Judge = find("judge", str(settings.get("backend")), key="judge.backend").make(
        own, structured=structured
    )
    return judge
