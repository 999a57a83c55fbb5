"""What small arms train with: settings of credit and oracle, and scores that no labeler reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

RULE: Final[dict[str, Any]] = {"tf_idf": {"alpha": 4.0, "tf": "relative", "idf": "plain"}}
WEIGHING: Final[dict[str, Any]] = {
    "beta": 0.5,
    "normalise": "none",
    "uncertain_as_positive": False,
    "no_finding": True,
    "uncertain": False,
}
"""How gradients become weights, whoever reads."""
GRADIENT: Final[dict[str, Any]] = {"gradient": WEIGHING | {"labeler": "chexbert_compact"}}
MIXING: Final[dict[str, Any]] = {
    "momentum": 0.5,
    "per": "prompt",
    "w_min": 0.2,
    "w_max": 0.6,
    "exponent": 2.0,
    "negatives": "zero_reward",
    "without_negatives": "drop_term",
    "tau": 1.5,
}
"""Of the oracle; tau is not 1, so that a tau left out is seen."""


SETTLED: Final = ("arm", "training", "labeler", "dtype", "prompts", "seed", "threads", "device")
"""Inputs of the stage train that its first node puts together."""


def train_stage(**inputs: Any) -> Any:
    """Run the nodes of the stage train.

    Args:
        **inputs: its inputs by name; without `observers` nobody looks on.
    """
    from radrl.pipelines.train.nodes import settle_arm, train_arm

    settings = settle_arm(*(inputs.pop(name) for name in SETTLED))
    return train_arm(**{"observers": lambda arm: []} | inputs, settings=settings)


class _OfLetters:
    """A score between 0 and 1 of a report's letters, `steps` of them, as shares of `scale`."""

    name: str
    steps: int
    scale: int
    clinical = True
    reads: Literal["report", "output"] = "report"
    told: Mapping[str, float] = {}

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> list[float]:
        return [sum(map(ord, report)) % self.steps / self.scale for report in reports]


class Thirds(_OfLetters):
    """Scores that differ between rollouts of an untrained policy; about a third is 0."""

    name, steps, scale = "thirds", 3, 2

    def __init__(self, clinical: bool = True) -> None:
        self.clinical = clinical


class Letters(_OfLetters):
    """A score that differs between any two rollouts of an untrained policy."""

    name, steps, scale = "letters", 97, 97
