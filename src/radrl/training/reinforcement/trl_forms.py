"""What TRL's trainer is handed, in the form that it asks for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from radrl.rewards.base import Part, RewardSum


@contextmanager
def silenced(name: str) -> Iterator[None]:
    """A block in which a logger says nothing."""
    logger = logging.getLogger(name)
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def as_trl(part: Part, reward: RewardSum) -> Callable[..., list[float]]:
    """TRL's calling convention around one part of the reward."""

    def score(
        completions: Sequence[Sequence[Mapping[str, str]]],
        reference: Sequence[str],
        label_text: Sequence[str],
        sample_id: Sequence[str],
        log_metric: Callable[[str, float], None],
        **_: Any,
    ) -> list[float]:
        outputs = [completion[0]["content"] for completion in completions]
        scores = reward.score_part(part, outputs, reference, sample_id, label_texts=label_text)
        for name, value in part.reward.told.items():
            log_metric(f"rewards/{part.name}/{name}", value)
        return scores

    score.__name__ = part.name
    return score
