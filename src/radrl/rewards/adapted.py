"""A reward of one's own as the trainer takes it: a function, or an object with the least of attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from radrl.labelers.base import Labeler
from radrl.parts.find import Part
from radrl.parts.signature import ingredients


class Adapted:
    """A reward under the name that params.yaml gives it.

    Args:
        score: from reports, references and sample_ids to a number a report.
        name: what its curve is called.
        of: what says the rest: `clinical`, `reads` and `told`.
    """

    def __init__(
        self,
        score: Callable[[Sequence[str], Sequence[str], Sequence[str]], Sequence[float]],
        name: str,
        of: object,
    ) -> None:
        self.name, self._score, self._of = name, score, of
        self.told: Mapping[str, float] = {}
        self.clinical = bool(getattr(of, "clinical", False))
        self.reads: Literal["report", "output"] = getattr(of, "reads", "report")

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> Sequence[float]:
        """See `radrl.rewards.base.Reward`."""
        scores = self._score(reports, references, sample_ids)
        self.told = getattr(self._of, "told", {})
        return scores


def of_function(part: Part, settings: Mapping[str, Any], labeler: Labeler) -> Adapted:
    """A function of reports as a reward.

    Args:
        part: the function.
        settings: its own.
        labeler: for a function that asks for one.
    """
    function, own = part.object, part.settings(settings)
    wanted = ingredients(function)

    def score(
        reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> Sequence[float]:
        given = {
            "reports": reports,
            "references": references,
            "sample_ids": sample_ids,
            "labeler": labeler,
        }
        scores: Sequence[float] = function(**{name: given[name] for name in wanted if name in given}, **own)
        return scores

    return Adapted(score, part.name, function)
