"""How far the distribution that rollouts were drawn from is from the policy that learns from them.

A second engine computes with the same weights by other sums, so its rollouts are off-policy by a little. TRL
weighs each token's loss with min(pi / mu, cap), pi the policy and mu the sampler (truncated importance
sampling: Yao et al. 2025, "Your efficient RL framework secretly brings you off-policy RL training"), or
leaves out what is above the cap. It logs what it weighs with; here is what that was before the cap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Mode = Literal["token_truncate", "token_mask", "sequence_truncate", "sequence_mask"]


@dataclass(frozen=True, slots=True)
class Ratios:
    """Ratios before the cap, over N tokens or sequences.

    Args:
        total: their sum.
        largest: of them; 0 where there is none.
        capped: how many are above the cap: truncated or left out.
        count: N.
    """

    total: float
    largest: float
    capped: int
    count: int


def ratios(
    policy: npt.ArrayLike, sampler: npt.ArrayLike, mask: npt.ArrayLike, *, mode: Mode, cap: float
) -> Ratios:
    """Sum up the ratios pi / mu of rollouts.

    Args:
        policy: log-probabilities of B rollouts of T tokens under the policy, shape (B, T).
        sampler: under the distribution they were drawn from, shape (B, T).
        mask: which tokens are theirs, shape (B, T).
        mode: whether a ratio is a token's or a whole rollout's.
        cap: above which one is truncated or left out.

    Returns:
        Their sums.

    Example:
        >>> policy, sampler = np.log([[0.5, 0.5]]), np.log([[0.25, 0.5]])
        >>> ratios(policy, sampler, [[1, 1]], mode="token_truncate", cap=1.5)
        Ratios(total=3.0, largest=2.0, capped=1, count=2)
    """
    known = np.asarray(mask, dtype=bool)
    logs = np.where(known, np.subtract(policy, sampler, dtype=np.float64), 0.0)  # (B, T)
    found = np.exp(logs.sum(axis=1) if mode.startswith("sequence") else logs[known])
    largest, capped = found.max(initial=0.0), np.count_nonzero(found > cap)
    return Ratios(float(found.sum()), float(largest), int(capped), found.size)


def numbers(of_processes: Sequence[Ratios]) -> dict[str, float]:
    """What a step logs of all processes' ratios.

    Args:
        of_processes: of each its own.

    Returns:
        Mean and largest ratio before the cap, and the share above it; nothing where no token was drawn.
    """
    count = sum(own.count for own in of_processes)
    if count == 0:
        return {}
    return {
        "sampling/ratio_mean": sum(own.total for own in of_processes) / count,
        "sampling/ratio_max": max(own.largest for own in of_processes),
        "sampling/capped_share": sum(own.capped for own in of_processes) / count,
    }
