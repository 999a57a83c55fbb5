"""A linear probe: how much of the labels stands in what a policy's vision tower makes of a film."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from tqdm import tqdm

from radrl.algorithms.f_measure import BoolArray
from radrl.policy.encoding import merged_tokens
from radrl.policy.folder import Policy
from radrl.readers import Films, Probabilities, mean_of_films

BATCH: Final = 32
"""Samples whose films are shown to the tower at once."""

Features = npt.NDArray[np.float64]
"""Mean and maximum of each sample's merged tokens, shape (N, 2 hidden)."""


class TowerProbe:
    """Logistic regression a label, on the tower as it is.

    Args:
        policy: whose vision tower is read; nothing of it moves.
        settings: inverse_regularisation (scikit-learn's C).
    """

    def __init__(self, policy: Policy, settings: Mapping[str, Any]) -> None:
        self.policy = policy
        self.inverse_regularisation = settings["inverse_regularisation"]

    @property
    def parameters(self) -> int:
        """Weights and biases."""
        return self.weights.size + self.biases.size

    def prepare(self, samples: Sequence[Films]) -> Features:
        """Show the tower the films, and average over those of each sample."""
        seen: list[npt.NDArray[np.float32]] = []
        counts: list[int] = []
        for start in tqdm(range(0, len(samples), BATCH), desc="tower", unit=" batches"):
            part = samples[start : start + BATCH]
            seen.append(_features(self.policy, [film for films in part for film in films]))
            counts += map(len, part)
        return mean_of_films(np.concatenate(seen), np.array(counts))

    def fit(self, prepared: Features, targets: BoolArray) -> None:
        """Fit label after label on standardised features; one that all samples have, or none, is constant."""
        from sklearn.preprocessing import StandardScaler

        self.scaler = StandardScaler().fit(prepared)
        standardised = self.scaler.transform(prepared)
        fitted = [self._fit_label(standardised, own) for own in targets.T]
        self.weights = np.stack([weights for weights, _ in fitted])  # (14, 2 hidden)
        self.biases = np.array([bias for _, bias in fitted])  # (14,)

    def probabilities(self, prepared: Features) -> Probabilities:
        """The logistic function of the linear maps."""
        from scipy.special import expit

        logits = self.scaler.transform(prepared) @ self.weights.T + self.biases
        read: Probabilities = expit(logits)
        return read

    def _fit_label(self, standardised: Features, own: BoolArray) -> tuple[npt.NDArray[np.float64], float]:
        """Weights (2 hidden,) and bias."""
        from sklearn.linear_model import LogisticRegression

        if own.all() or not own.any():
            return np.zeros(standardised.shape[1]), np.inf if own.all() else -np.inf
        # the default of 100 iterations ends before convergence
        model = LogisticRegression(C=self.inverse_regularisation, max_iter=1000).fit(standardised, own)
        return model.coef_[0], float(model.intercept_[0])


@torch.no_grad()
def _features(policy: Policy, films: Sequence[bytes]) -> npt.NDArray[np.float32]:
    """Mean and maximum over the merged tokens of each film, shape (B, 2 hidden)."""
    tokens = [own.float() for own in merged_tokens(policy, films)]
    return torch.stack([torch.cat([own.mean(dim=0), own.amax(dim=0)]) for own in tokens]).cpu().numpy()
