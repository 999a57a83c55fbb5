"""How many different films an arm sees while it trains, and how often."""

from __future__ import annotations

from dataclasses import dataclass

from radrl.params import films
from radrl.params.schema import Params
from radrl.training import course


@dataclass(frozen=True, slots=True)
class Seen:
    """What an arm sees of its subset: each film once before any twice.

    Args:
        subset: about how many films its subset has.
        passes: how often it goes through them; below 1 it does not see them all.
        films: how many different ones it sees.
    """

    subset: int
    passes: float
    films: int

    def __str__(self) -> str:
        if self.passes < 1:
            return f"{self.films:,} of about {self.subset:,}"
        times = f"{round(self.passes, 2):,g}"
        return f"about {self.films:,}, {'once' if times == '1' else f'{times} times'}"


def seen(params: Params, arm: str) -> Seen | None:
    """What an arm sees: batches x prompts_per_step films, at most those of its subset.

    Args:
        params: the run's.
        arm: one of theirs.

    Returns:
        The counts; nothing for an arm that hands its start on, or whose films parameters do not count.
    """
    own = params.arms[arm]
    subset = films.expected(params, own.selection)
    if own.reward is None or subset is None:
        return None
    settings = course.of_arm(params.training.model_dump(), own.training)
    drawn = course.batches(settings, subset) * settings["prompts_per_step"]
    return Seen(subset, course.passes(settings, subset), min(drawn, subset))
