"""The network that reads labels off films."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from radrl.readers.network import LabelNetwork
from radrl.storage.complete_weights import WeightsError

SETTINGS = {"channels": 4, "epochs": 6, "batch_size": 16, "learning_rate": 1e-2, "weight_decay": 0.01}
Planted = Callable[..., tuple[list[tuple[bytes, ...]], Any]]


def learned(planted: Planted, seed: int = 0, count: int = 160) -> LabelNetwork:
    samples, targets = planted(count)
    network = LabelNetwork(SETTINGS, seed=seed)
    network.fit(network.prepare(samples), targets)
    return network


def test_it_learns_a_bright_square_and_nothing_from_chance(planted: Planted) -> None:
    network = learned(planted)
    samples, targets = planted(80, seed=1)
    read = network.probabilities(network.prepare(samples))
    right = ((read > 0.5) == targets).mean(axis=0)
    assert right[3] > 0.95
    assert right[5] == right[7] == 1  # no film has the one, all have the other
    assert right[[0, 1, 2]].mean() < 0.65


def test_same_seed_same_bytes(planted: Planted) -> None:
    samples, _ = planted(8, seed=2)

    def read(seed: int) -> bytes:
        network = learned(planted, seed, count=32)
        return network.probabilities(network.prepare(samples)).tobytes()

    assert read(0) == read(0) != read(1)


def test_films_of_a_study_are_examples_of_their_own_and_are_averaged(planted: Planted) -> None:
    network = learned(planted, count=32)
    samples, _ = planted(3, seed=2)
    alone = network.probabilities(network.prepare(samples))
    together = network.probabilities(network.prepare([samples[0], samples[1] + samples[2]]))
    assert together == pytest.approx(np.stack([alone[0], alone[1:].mean(axis=0)]), abs=1e-6)
    network.fit(network.prepare([samples[0], samples[1] + samples[2]]), np.ones((2, 14), dtype=bool))


def test_weights_of_a_training_that_diverged_are_refused(planted: Planted) -> None:
    samples, targets = planted(32)
    network = LabelNetwork(SETTINGS | {"learning_rate": 1e38}, seed=0)
    with pytest.raises(
        WeightsError,
        match=r"^the network has NaN or infinity in body.*\. .*ceilings\.network\.learning_rate$",
    ):
        network.fit(network.prepare(samples), targets)


def test_films_are_kept_in_bytes(planted: Planted) -> None:
    prepared = LabelNetwork(SETTINGS, seed=0).prepare(planted(3)[0])
    assert (prepared.grey.dtype, prepared.grey.shape) == (np.uint8, (3, 56, 56))


def test_its_size_is_the_one_said() -> None:
    # stem 5 x 5 x 16; blocks of 16, 32 and 64; two numbers a batch norm and channel; head of 128 x 14 + 14
    convolutions = 400 + 9 * (2 * 16 * 16 + 16 * 32 + 32 * 32 + 32 * 64 + 64 * 64)
    norms = 2 * (16 + 2 * 16 + 2 * 32 + 2 * 64)
    assert (
        LabelNetwork(SETTINGS | {"channels": 16}, seed=0).parameters == convolutions + norms + 128 * 14 + 14
    )
