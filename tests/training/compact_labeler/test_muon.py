"""Muon."""

from __future__ import annotations

import pytest
import torch

from radrl.training.compact_labeler.fitting import Muon, orthogonal


@pytest.mark.parametrize("shape", [(8, 8), (6, 20), (20, 6)])
def test_singular_values_come_near_one_and_directions_stay(shape: tuple[int, int]) -> None:
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    found = orthogonal(matrix)
    u, _, v = torch.linalg.svd(matrix, full_matrices=False)
    turned = u.T @ found @ v.T  # diagonal where the directions are the matrix's own
    assert torch.allclose(turned, turned.diagonal().diag(), atol=1e-4)
    assert turned.diagonal().min() > 0.5
    assert turned.diagonal().max() < 1.3


def test_steps_are_those_of_torch_to_the_precision_of_bfloat16() -> None:
    start = torch.randn(16, 32, generator=torch.Generator().manual_seed(1))
    own, other = (torch.nn.Parameter(start.clone()) for _ in range(2))
    ours = Muon([own], lr=0.1, weight_decay=0.01)
    torchs = torch.optim.Muon([other], lr=0.1, weight_decay=0.01, adjust_lr_fn="match_rms_adamw")
    for seed in range(4):
        own.grad = torch.randn(16, 32, generator=torch.Generator().manual_seed(seed))
        other.grad = own.grad.clone()
        ours.step()
        torchs.step()  # type: ignore[no-untyped-call]
    moved = (other - start).norm()
    assert (own - other).norm() < 0.02 * moved


def test_what_has_no_gradient_stays() -> None:
    weight = torch.nn.Parameter(torch.ones(2, 2))
    Muon([weight], lr=0.1, weight_decay=0.5).step()
    assert torch.equal(weight, torch.ones(2, 2))
