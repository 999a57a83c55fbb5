"""Every token carries its report's advantage (GRPO)."""

from __future__ import annotations

from radrl.credit.base import Rollouts, TokenWeights
from radrl.parts.section import Nothing


class Uniform:
    """Every token carries its report's advantage (GRPO)."""

    Section = Nothing

    def weigh(self, rollouts: Rollouts) -> TokenWeights | None:
        """See `radrl.credit.base.Credit`."""
        return None
