"""From an arm's `reward` block in params.yaml to the reward it names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from radrl.labelers.base import Labeler
from radrl.rewards.base import RewardSum
from radrl.rewards.clinical import ClinicalF1

PARTS = {ClinicalF1.name: ClinicalF1}


def build(parts: Mapping[str, Mapping[str, Any] | None], labeler: Labeler) -> RewardSum:
    """Build a reward.

    Args:
        parts: part name to its settings; a part set to nothing is left out.
        labeler: for the parts that read labels.

    Returns:
        The weighted sum.

    Raises:
        ValueError: for an unknown part.
    """
    chosen = {name: settings for name, settings in parts.items() if settings is not None}
    for name in chosen:
        if name not in PARTS:
            raise ValueError(f"no reward {name!r}; there are {', '.join(PARTS)}")
    return RewardSum([PARTS[name](labeler, **settings) for name, settings in chosen.items()])
