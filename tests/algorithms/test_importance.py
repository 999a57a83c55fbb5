"""Ratios of a policy to the distribution its rollouts were drawn from, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from radrl.algorithms.importance import Ratios, numbers, ratios

POLICY = np.log([[0.5, 0.2, 0.9], [0.1, 0.3, 0.6]])
SAMPLER = np.log([[0.25, 0.2, 0.1], [0.2, 0.1, 0.6]])
MASK = [[1, 1, 0], [1, 1, 1]]  # the first rollout's third token is padding: its ratio of 9 counts nowhere


def test_ratios_of_tokens() -> None:
    found = ratios(POLICY, SAMPLER, MASK, mode="token_truncate", cap=1.5)
    assert found.total == pytest.approx(2 + 1 + 0.5 + 3 + 1)
    assert found.largest == pytest.approx(3)
    assert (found.capped, found.count) == (2, 5)


@pytest.mark.parametrize("mode", ["sequence_mask", "sequence_truncate"])
def test_ratios_of_rollouts_are_products(mode: str) -> None:
    found = ratios(POLICY, SAMPLER, MASK, mode=mode, cap=1.75)
    assert found.total == pytest.approx(2 + 1.5)
    assert found.largest == pytest.approx(2)
    assert (found.capped, found.count) == (1, 2)


def test_numbers_of_processes_are_those_of_all_tokens() -> None:
    whole = ratios(POLICY, SAMPLER, MASK, mode="token_mask", cap=1.5)
    parts = [
        ratios(POLICY[i : i + 1], SAMPLER[i : i + 1], MASK[i : i + 1], mode="token_mask", cap=1.5)
        for i in (0, 1)
    ]
    assert numbers(parts) == pytest.approx(numbers([whole]))
    assert numbers([whole]) == pytest.approx(
        {"sampling/ratio_mean": 1.5, "sampling/ratio_max": 3.0, "sampling/capped_share": 0.4}
    )


def test_a_step_without_a_token_has_no_numbers() -> None:
    none = ratios(POLICY, SAMPLER, np.zeros((2, 3)), mode="token_mask", cap=2.0)
    assert none == Ratios(0.0, 0.0, 0, 0)
    assert numbers([none]) == {}


def test_a_ratio_at_the_cap_is_not_above_it() -> None:
    same = np.log([[0.5, 0.25]])  # pi = mu: ratios of exactly 1
    assert ratios(same, same, [[1, 1]], mode="token_truncate", cap=1.0) == Ratios(2.0, 1.0, 0, 2)
