"""A scorer whose pairs are shared out to workers: for scorers that give each pair numbers of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Final

import numpy as np

from radrl.evaluation.summed import FloatArray
from radrl.mapping.base import Work
from radrl.mapping.engines import mapped
from radrl.scoring.base import Scorer, Scores, ScoringError, means_of, require_pairs

PAIRS: Final = 2048
"""Pairs of a shard; RadGraph's process, which loads its model anew, lasts for one."""

_Shard = tuple[int, Sequence[str], Sequence[str]]
"""The place of its first pair, its references and its generated reports."""


class SharedOut:
    """A scorer whose figures are the means of what each pair is given, whatever the other pairs.

    Shards are cut whatever the workers, so that figures are the same whoever scores them.

    Args:
        make: makes the scorer, in each worker.
        name: of its family.
        compute: the section `compute` of params.yaml; nothing for this process alone.
        device: where workers compute, as params.yaml's `device`.
        explained: the scorer's method of that name, where it has one; this process asks it.
    """

    def __init__(
        self,
        make: Callable[[], Scorer],
        name: str,
        *,
        compute: Mapping[str, Any] | None,
        device: str,
        explained: Callable[..., Any] | None = None,
    ) -> None:
        self.name, self._make, self._compute, self._device = name, make, compute, device
        self.explained = explained

    def score(self, references: Sequence[str], hypotheses: Sequence[str]) -> Scores:
        """See `radrl.scoring.base.Scorer`."""
        require_pairs(references, hypotheses)
        shards: list[_Shard] = [
            (start, references[start : start + PAIRS], hypotheses[start : start + PAIRS])
            for start in range(0, len(references), PAIRS)
        ]
        work = Work(self.name, partial(_opened, self._make), _score)
        found = list(mapped(work, shards, self._compute, device=self._device))
        names = found[0][0]
        values = {name: np.concatenate([own[name] for own, _ in found]) for name in names}
        return means_of(values, about=found[0][1])


def _opened(make: Callable[[], Scorer]) -> AbstractContextManager[Scorer]:
    return nullcontext(make())


def _score(scorer: Scorer, shard: _Shard) -> tuple[dict[str, FloatArray], dict[str, str]]:
    """What each pair is given, by metric name, and what that depends on."""
    start, references, hypotheses = shard
    try:
        found = scorer.score(references, hypotheses)
    except ScoringError as error:
        raise ScoringError(f"{error} (reports counted from {start})") from error
    return found.per_report, found.about
