"""The linear probe of a tower that nobody trained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from radrl.policy.encoding import merged_tokens
from radrl.policy.folder import Policy
from radrl.readers.probe import TowerProbe

SETTINGS = {"inverse_regularisation": 1.0}
Planted = Callable[..., tuple[list[tuple[bytes, ...]], Any]]


@pytest.fixture
def probe(policy: Policy, planted: Planted) -> TowerProbe:
    samples, targets = planted(100)
    made = TowerProbe(policy, SETTINGS)
    made.fit(made.prepare(samples), targets)
    return made


def test_it_finds_what_a_random_tower_lets_through(probe: TowerProbe, planted: Planted) -> None:
    samples, targets = planted(60, seed=1)
    read = probe.probabilities(probe.prepare(samples))
    assert ((read > 0.5) == targets)[:, 3].mean() > 0.9


def test_a_label_with_one_class_is_constant(probe: TowerProbe, planted: Planted) -> None:
    read = probe.probabilities(probe.prepare(planted(5, seed=1)[0]))
    assert read[:, 5].tolist() == [0] * 5
    assert read[:, 7].tolist() == [1] * 5


def test_features_are_mean_and_maximum_of_the_tokens(probe: TowerProbe, planted: Planted) -> None:
    samples, _ = planted(3)
    features = probe.prepare(samples)
    films = [film for own in samples for film in own]
    with torch.no_grad():
        mean = torch.stack([own.mean(dim=0) for own in merged_tokens(probe.policy, films)])
    hidden = mean.shape[1]
    assert features.shape == (3, 2 * hidden)
    assert features[:, :hidden] == pytest.approx(mean.numpy(), abs=1e-5)
    assert (features[:, hidden:] > features[:, :hidden]).all()


def test_features_of_a_study_are_averaged(probe: TowerProbe, planted: Planted) -> None:
    samples, _ = planted(3)
    alone = probe.prepare(samples)
    together = probe.prepare([samples[0], samples[1] + samples[2]])
    assert together == pytest.approx(np.stack([alone[0], alone[1:].mean(axis=0)]), abs=1e-6)


def test_the_tower_stays_as_it_is(
    policy: Policy, planted: Planted, weights: Callable[[Any], Any], same: Callable[..., bool]
) -> None:
    before = weights(policy)
    samples, targets = planted(10)
    made = TowerProbe(policy, SETTINGS)
    made.fit(made.prepare(samples), targets)
    assert same(weights(policy), before)
    assert made.parameters == 14 * (2 * policy.model.model.visual.config.out_hidden_size + 1)
