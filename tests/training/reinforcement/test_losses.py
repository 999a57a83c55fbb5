"""Losses of TRL with radrl's settings, each by hand on three tokens of two reports."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log
from pathlib import Path
from typing import Any

import pytest
import torch
from loss_by_hand import ADVANTAGES, LOG_PROBABILITIES, MASK, RATIOS, Bare
from small_arms import TRAINING

from radrl.rewards.base import RewardSum
from radrl.training.reinforcement import grpo, trl_forms


def sigmoid(x: float) -> float:
    return 1 / (1 + exp(-x))


@pytest.fixture
def computed(tmp_path: Path) -> Callable[[Any], float]:
    def compute(loss: Any) -> float:
        settings = TRAINING | {"loss": loss, "clip_low": 0.2, "clip_high": 0.3, "kl": 0.0}
        args = grpo._arguments(settings, RewardSum([]), 0, tmp_path)
        args.steps_per_generation = 1
        batch = {
            "prompt_ids": torch.zeros(2, 1, dtype=torch.long),
            "prompt_mask": torch.ones(2, 1, dtype=torch.long),
            "completion_ids": torch.zeros(2, 2, dtype=torch.long),
            "completion_mask": MASK,
            "advantages": ADVANTAGES,
            "old_per_token_logps": LOG_PROBABILITIES - RATIOS.log(),
            "num_items_in_batch": MASK.sum(),
        }
        return float(Bare(args)._compute_loss(None, batch))

    return compute


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        # of report 1 the ratios count as 1.3 (clipped) and 0.5, of report 2 as 3, which is no gain
        ("grpo", (-(1.3 + 0.5) / 2 + 3) / 2),
        ("bnpo", (-1.3 - 0.5 + 3) / 3),
        ("dapo", (-1.3 - 0.5 + 3) / 3),
        ("dr_grpo", (-1.3 - 0.5 + 3) / (2 * 4)),
        ("luspo", (-1.3 - 0.5 + 3) / 2),
        ({"name": "grpo", "two_sided": 2.0}, (-(1.3 + 0.5) / 2 + 2) / 2),
        # the geometric mean of 2 and 0.5 is 1
        ({"name": "grpo", "ratio": "sequence"}, (-1 + 3) / 2),
        ({"name": "luspo", "ratio": "sequence"}, (-2 + 3) / 2),
        ("cispo", (2.0 * 1 + 0.5 * 2 - 3.0 * 0.5) / 3),
        ({"name": "cispo", "cap": 2.0}, (2.0 * 1 + 0.5 * 2 - 2.0 * 0.5) / 3),
        ("sapo", (-(4 * sigmoid(1) + 4 * sigmoid(-0.5)) / 2 + 4 / 1.05 * sigmoid(1.05 * 2)) / 2),
        (
            {"name": "sapo", "temperatures": [1.0, 2.0]},
            (-(4 * sigmoid(1) + 4 * sigmoid(-0.5)) / 2 + 2 * sigmoid(4)) / 2,
        ),
        # whole reports have the ratios 1 and 3: weights 1 and e^lambda w^k e^(-lambda w)
        ("vespo", (1 + 2 - exp(2 + 3 * log(3) - 2 * 3) * 0.5) / 3),
        (
            {"name": "vespo", "powers": [2.0, 1.0], "decays": [3.0, 1.0]},
            (1 + 2 - exp(1 + log(3) - 3) * 0.5) / 3,
        ),
        # entropies of 0.5 and more: one token of each report
        ({"name": "grpo", "doubtful_share": 0.5}, (-0.5 / 2 + 3) / 2),
        ({"name": "grpo", "entropy": {"weight": 0.1}}, 1.05 - 0.1 * (0.1 + 0.9 + 0.5) / 3),
        ({"name": "grpo", "entropy": {"weight": 0.1, "target": 0.6}}, 1.05 - 0.1 * 0.5),
    ],
)
def test_loss_by_hand(computed: Callable[[Any], float], loss: Any, expected: float) -> None:
    assert computed(loss) == pytest.approx(expected, rel=1e-5)


def test_weight_of_doubt_follows_its_target(tmp_path: Path) -> None:
    """Up while the entropy, here 0.5, is at most the target, down otherwise, and never past its bounds."""
    weights = []
    for target, weight in ((0.6, 0.1), (0.4, 0.1), (0.4, 0.01), (0.6, 0.99)):
        loss = {
            "name": "grpo",
            "entropy": {"weight": weight, "target": target, "least": 0.0, "most": 1.0, "step": 0.02},
        }
        args = grpo._arguments(TRAINING | {"loss": loss, "kl": 0.0}, RewardSum([]), 0, tmp_path)
        trainer = Bare(args)
        trainer._compute_loss(
            None,
            {
                "prompt_ids": torch.zeros(2, 1, dtype=torch.long),
                "prompt_mask": torch.ones(2, 1, dtype=torch.long),
                "completion_ids": torch.zeros(2, 2, dtype=torch.long),
                "completion_mask": MASK,
                "advantages": ADVANTAGES,
                "num_items_in_batch": MASK.sum(),
            },
        )
        weights.append(trainer.entropy_coef)
    assert weights == pytest.approx([0.12, 0.08, 0.0, 1.0])


@pytest.mark.parametrize(
    ("own", "expected"),  # weight, whether it is moved, target, least, most, step
    [
        (None, [0.0, False, 0.0, 0.0, 1.0, 0.005]),
        ({"weight": 0.1}, [0.1, False, 0.0, 0.0, 1.0, 0.005]),
        ({"weight": 0.1, "target": 0.6}, [0.1, True, 0.6, 0.0, 1.0, 0.005]),
        (
            {"weight": 0.1, "target": 0.6, "least": 0.05, "most": 0.2, "step": 0.01},
            [0.1, True, 0.6, 0.05, 0.2, 0.01],
        ),
    ],
)
def test_settings_of_doubt_and_what_they_are_where_none_is_given(own: Any, expected: list[float]) -> None:
    found = trl_forms.loss_arguments({"name": "grpo", "entropy": own}, clip_low=0.1, clip_high=0.2)
    bounds = [found[f"entropy_{key}"] for key in ("target", "coef_min", "coef_max", "coef_delta")]
    assert [found["entropy_coef"], found["use_adaptive_entropy"], *bounds] == expected


def test_a_name_alone_is_the_loss_with_its_papers_settings() -> None:
    for name in ("grpo", "cispo", "sapo", "vespo"):
        plain = trl_forms.loss_arguments(name, clip_low=0.1, clip_high=0.2)
        assert plain == trl_forms.loss_arguments({"name": name}, clip_low=0.1, clip_high=0.2)
    assert trl_forms.loss_arguments("cispo", clip_low=0.1, clip_high=0.2)["epsilon_high"] == trl_forms.CAP
    assert trl_forms.loss_arguments("grpo", clip_low=0.1, clip_high=0.2)["epsilon_high"] == 0.2
