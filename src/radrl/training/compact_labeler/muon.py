"""Muon (Jordan et al. 2024, github.com/KellerJordan/Muon): steps of equal size in all directions of a matrix.

`torch.optim.Muon` with ``adjust_lr_fn="match_rms_adamw"`` does the same in bfloat16; here it is single
precision, since a processor without instructions for bfloat16 takes twenty times as long for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

import torch

MOMENTUM: Final = 0.95
COEFFICIENTS: Final = (3.4445, -4.7750, 2.0315)
"""Of the Newton-Schulz iteration: singular values end between 0.7 and 1.2, wherever they began."""
ITERATIONS: Final = 5
ADAM_SIZE: Final = 0.2
"""Root mean square of a step: about AdamW's, so that it takes AdamW's rate (Liu et al. 2025,
arXiv:2502.16982)."""


class Muon(torch.optim.Optimizer):
    """Steps along the orthogonal matrix nearest to the gradient's running mean.

    Args:
        matrices: weights of two dimensions.
        lr: learning rate, of AdamW's size.
        weight_decay: decoupled, as AdamW's.
    """

    def __init__(self, matrices: Iterable[torch.Tensor], lr: float, weight_decay: float) -> None:
        super().__init__(matrices, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]  # no closure
        """Change the matrices that have a gradient."""
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    step = self._direction(weight, weight.grad)
                    weight.mul_(1 - group["lr"] * group["weight_decay"])
                    weight.sub_(step, alpha=group["lr"] * ADAM_SIZE * math.sqrt(max(weight.shape)))

    def _direction(self, weight: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        mean: torch.Tensor = self.state[weight].setdefault("mean", torch.zeros_like(weight))
        mean.lerp_(gradient, 1 - MOMENTUM)
        return orthogonal(gradient.lerp(mean, MOMENTUM))


def orthogonal(matrix: torch.Tensor) -> torch.Tensor:
    """Nearly U V^T of a matrix's singular value decomposition U S V^T.

    Args:
        matrix: shape (M, N).

    Returns:
        A matrix of that shape, its singular values near 1 unless they were tiny beside the largest.
    """
    wide = matrix.T if matrix.shape[0] > matrix.shape[1] else matrix
    near: torch.Tensor = wide / wide.norm().clamp(min=1e-7)
    first, third, fifth = COEFFICIENTS
    for _ in range(ITERATIONS):
        gram = near @ near.T
        near = first * near + (third * gram + fifth * gram @ gram) @ near
    return near.T if matrix.shape[0] > matrix.shape[1] else near
