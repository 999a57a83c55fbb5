"""The vision tower learns which words captions hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from radrl.policy import folder
from radrl.policy.folder import Policy
from radrl.training.vision import bag_of_words, learn_words

SETTINGS = {"epochs": 12, "batch_size": 8, "learning_rate": 3e-3, "weight_decay": 0.01}


def test_bag_holds_the_words_that_five_captions_share_in_alphabetical_order() -> None:
    captions = ["Edema. Effusion!"] * 4 + ["effusion EFFUSION, edema, mass", "clear", "effusion"]
    assert bag_of_words(captions).tolist() == [[1, 1]] * 5 + [[0, 0], [0, 1]]  # edema 5, effusion 6, mass 1


@pytest.fixture
def learn(
    policy_folder: Path, films: Callable[..., list[bytes]]
) -> Callable[..., tuple[Policy, list[float]]]:
    """Train on films of two kinds, told apart by their noise, and hand back the losses too."""

    def run(seed: int = 0) -> tuple[Policy, list[float]]:
        policy, losses = folder.load(policy_folder), []
        captions = ["Pleural effusion", "Pulmonary edema"] * 12
        learn_words(
            policy,
            films(2) * 12,
            captions,
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
