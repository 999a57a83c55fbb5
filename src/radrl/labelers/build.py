"""The labeler that params.yaml names."""

from __future__ import annotations

from radrl.labelers.base import Labeler
from radrl.labelers.rules.labeler import RulesLabeler


def build(name: str) -> Labeler:
    """Build a labeler.

    Args:
        name: `labeler.name` of params.yaml.

    Returns:
        The labeler.

    Raises:
        ValueError: for an unknown name.
    """
    if name != RulesLabeler.name:
        raise ValueError(f"no labeler {name!r}; there is {RulesLabeler.name!r}")
    return RulesLabeler()
