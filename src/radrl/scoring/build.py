"""The scorers that params.yaml or the command line names.

One whose pairs have numbers of their own is shared out to workers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Final

import numpy as np

from radrl.evaluation import FloatArray
from radrl.labelers import Labeler
from radrl.mapping.engines import Work, mapped
from radrl.parts.find import Part, find, ingredients
from radrl.scoring import Scorer, Scores, ScoringError, means_of, require_pairs

PAIRS: Final = 2048
"""Pairs of a shard; RadGraph's process, which loads its model anew, lasts for one."""

_Shard = tuple[int, Sequence[str], Sequence[str]]
"""The place of its first pair, its references and its generated reports."""

Settings = Mapping[str, Any]


class ParallelScorer:
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
        """See `radrl.scoring.Scorer`."""
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


class FunctionMetric:
    """The means of what a function gives for each report.

    Args:
        part: the function; its metrics are named after it.
        settings: its own.
        labelers: for a function that asks for them.
    """

    def __init__(self, part: Part, settings: Mapping[str, Any], labelers: Sequence[Labeler]) -> None:
        self.name, self._part, self._labelers = part.name, part, labelers
        self.wording = bool(getattr(part.object, "wording", False))
        self._settings = part.settings(settings)

    def score(self, references: Sequence[str], hypotheses: Sequence[str]) -> Scores:
        """See `radrl.scoring.Scorer`.

        Raises:
            ScoringError: when it gives another number of values than there are reports.
        """
        require_pairs(references, hypotheses)
        given = {"references": references, "hypotheses": hypotheses, "labelers": self._labelers}
        wanted = {name: given[name] for name in ingredients(self._part.object) if name in given}
        found = self._part.object(**wanted, **self._settings)
        by_name = found if isinstance(found, Mapping) else {"": found}
        for values in by_name.values():
            if len(values) != len(hypotheses):
                raise ScoringError(
                    f"{self._part.path} gave {len(values)} values for {len(hypotheses)} reports; give each "
                    "report one"
                )
        return means_of({f"{self.name}_{key}" if key else self.name: own for key, own in by_name.items()})


def build(
    families: Sequence[str],
    settings: Settings,
    labelers: Sequence[Labeler],
    *,
    compute: Mapping[str, Any] | None = None,
    device: str = "cpu",
) -> list[Scorer]:
    """Build scorers.

    Args:
        families: names of metrics, or of families of them.
        settings: the section `eval` of params.yaml; a family reads the key of its own name.
        labelers: who read the labels of the family ``ce``.
        compute: the workers that share the pairs of scorers which say that these are independent (an
            attribute `by_pair`, true); nothing leaves every scorer as it is.
        device: where these compute, as params.yaml's `device`.

    Returns:
        The scorers, in the given order.

    Raises:
        radrl.parts.find.PartError: for a family that cannot be had.
        ScoringError: for one whose settings or tools are missing.
    """
    built = []
    for name in families:
        scorer = _scorer(name, settings.get(name), labelers)
        if compute is not None and getattr(scorer, "by_pair", False):
            make = partial(_scorer, name, settings.get(name), ())
            explained = getattr(scorer, "explained", None)
            scorer = ParallelScorer(make, name, compute=compute, device=device, explained=explained)
        built.append(scorer)
    return built


def _scorer(name: str, own: Settings | None, labelers: Sequence[Labeler]) -> Scorer:
    part = find("metric", name, own)
    if own is None and any(field.is_required() for field in part.section.model_fields.values()):
        raise ScoringError(f"{name} is asked for but eval.{name} is not set, which says how")
    if part.is_function:
        return FunctionMetric(part, own or {}, labelers)
    scorer: Scorer = part.make(own or {}, labelers=labelers, name=name)
    _require_name(part, scorer)
    return scorer


def _require_name(part: Part, scorer: Scorer) -> None:
    if getattr(scorer, "name", None) != part.name:
        raise ScoringError(
            f"{part.path} names its metrics after {getattr(scorer, 'name', None)!r}, but eval calls it "
            f"{part.name!r}; let it ask for `name` before its *, or have eval call it so"
        )
