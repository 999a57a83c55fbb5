"""The vision tower learns which phrases reports hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from radrl.policy import folder
from radrl.policy.folder import Policy
from radrl.training.supervised.vision import evidence, learn_phrases, phrases

SETTINGS = {
    "epochs": 12,
    "batch_size": 8,
    "learning_rate": 3e-3,
    "warmup_share": 0.1,
    "weight_decay": 0.01,
    "gradient_clip": 1.0,
}


def test_phrases_are_words_and_pairs_within_a_sentence_that_five_reports_share() -> None:
    reports = ["Edema. No effusion!"] * 4 + ["no effusion, EDEMA, mass", "clear", "effusion"]
    held, shares = phrases(reports)
    # edema 5, effusion 6, no 5, "no effusion" 5; mass and the pair across the full stop are too rare
    assert held == [[0, 1, 2, 3]] * 5 + [[], [1]]
    assert shares.tolist() == pytest.approx([5 / 7, 6 / 7, 5 / 7, 5 / 7])


def test_phrases_of_too_small_a_share_are_left_out() -> None:
    held, shares = phrases(["edema"] * 1995 + ["mass"] * 5)  # 5 is enough of them, 0.0025 too small a share
    assert len(shares) == 1
    assert held[-1] == []


def test_one_token_that_says_much_is_enough() -> None:
    readout = torch.nn.Linear(2, 1)
    with torch.no_grad():
        readout.weight.copy_(torch.tensor([[1.0, 0.0]]))
        readout.bias.fill_(-2.0)
    silent, loud = torch.zeros(4, 2), torch.zeros(4, 2)
    loud[1, 0] = 8.0
    found = evidence(torch.stack([silent, loud]), readout)
    # log((3 + e^8) / 4) - 2
    assert found.flatten().tolist() == pytest.approx([-2.0, 4.61471], abs=1e-5)


@pytest.fixture
def learn(
    policy_folder: Path, films: Callable[..., list[bytes]]
) -> Callable[..., tuple[Policy, list[float]]]:
    """Train on films of two kinds, told apart by their noise, and hand back the losses too."""

    def run(seed: int = 0) -> tuple[Policy, list[float]]:
        policy, losses = folder.load(policy_folder), []
        reports = ["Pleural effusion", "Pulmonary edema"] * 12
        learn_phrases(
            policy,
            films(2) * 12,
            reports,
            settings=SETTINGS,
            seed=seed,
            report=lambda _, row: losses.append(row["vision_loss"]),
        )
        return policy, losses

    return run


def test_loss_falls_and_the_vision_tower_alone_moves(
    learn: Callable[..., tuple[Policy, list[float]]], weights: Callable[[Any], Any], policy_folder: Path
) -> None:
    trained, losses = learn()
    assert losses[-1] < 0.5 * losses[0]
    before, after = weights(policy_folder), weights(trained)
    moved = {name for name in before if not torch.equal(before[name], after[name])}
    assert moved
    assert all(name.startswith("model.visual.") for name in moved)
    assert not trained.model.model.visual.training


def test_same_seed_same_tower(
    learn: Callable[..., tuple[Policy, list[float]]], weights: Callable[[Any], Any], same: Callable[..., bool]
) -> None:
    first = weights(learn()[0])
    assert same(weights(learn()[0]), first)
    assert not same(weights(learn(seed=1)[0]), first)


def test_reports_that_share_no_phrase_teach_nothing_and_it_is_said(
    policy_folder: Path,
    films: Callable[..., list[bytes]],
    weights: Callable[[Any], Any],
    same: Callable[..., bool],
    caplog: pytest.LogCaptureFixture,
) -> None:
    policy = folder.load(policy_folder)
    learn_phrases(policy, films(2), ["edema", "mass"], settings=SETTINGS, seed=0)
    assert same(weights(policy), weights(policy_folder))
    assert "no phrase stands in 5 of the 2 pretraining reports" in caplog.text
