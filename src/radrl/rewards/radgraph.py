"""RadGraph F1 of a report, by the package's own model in a process of its own, as a reward."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

from radrl.parts.section import PositiveFloat, PositiveInt
from radrl.rewards.base import RewardError
from radrl.scoring import ScoringError, isolated, radgraph
from radrl.scoring.radgraph import RadGraphSection

Level = Literal["simple", "partial", "complete"]
REMEMBERED: Final = 4_096
"""Texts whose graphs are kept, so that a film's reference is annotated once for its rollouts."""
_TRIAL: Final = "No pleural effusion."


class RadGraphRewardSection(RadGraphSection):
    """The package and its model as eval.radgraph has them, which of its rewards, and their dial."""

    batch_size: PositiveInt = 1
    level: Level = "partial"
    beta: PositiveFloat = 1.0


class RadGraph:
    """F-beta of the entities and relations of two reports (Delbrouck et al. 2022, section 3), by RadGraph.

    At beta 1 as the metric ``radgraph_<level>`` (`radrl.scoring.radgraph`): a text without any entity earns
    0, and so does every report against it. At a `batch_size` above 1 the model's sums, and with them the
    last of its decisions, depend on which texts it reads together.

    Args:
        python: interpreter of the environment with `radgraph`; the running one when nothing.
        model: folder of the unpacked weights, named after the type of the model.
        batch_size: texts computed at a time.
        timeout: seconds without an answer after which the worker counts as hung.
        level: ``simple`` compares entities, ``partial`` also whether they have a relation, ``complete`` the
            relations themselves.
        beta: above 1 recall counts for more than precision, below 1 less.

    Raises:
        RewardError: when there is no such interpreter, or the folder is not one of a RadGraph model.
    """

    Section = RadGraphRewardSection
    name, clinical, waits = "radgraph", True, True
    reads: Literal["report", "output"] = "report"
    told: Mapping[str, float] = {}

    def __init__(
        self,
        *,
        python: str | Path | None,
        model: str | Path,
        batch_size: int = 1,
        timeout: float = isolated.SILENCE,
        level: Level = "partial",
        beta: float = 1.0,
    ) -> None:
        how = {"batch_size": batch_size, "timeout": timeout, "beta": beta, "remembered": REMEMBERED}
        try:
            self._scorer = radgraph.RadGraph(python=python, model=model, **how)  # type: ignore[arg-type]
        except ScoringError as error:
            raise RewardError(f"reward {self.name}: {error}") from error
        self._metric = f"radgraph_{level}"

    @contextmanager
    def opened(self) -> Iterator[dict[str, str]]:
        """See `radrl.rewards.base.Reward`; the worker has annotated a sentence by then."""
        with isolated.kept():
            try:
                about = self._scorer.score([_TRIAL], [_TRIAL]).about
            except ScoringError as error:
                raise RewardError(f"reward {self.name}: {error}") from error
            yield about

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> Sequence[float]:
        """See `radrl.rewards.base.Reward`.

        Raises:
            RewardError: when the worker fails.
        """
        try:
            scores: list[float] = self._scorer.score(references, reports).per_report[self._metric].tolist()
        except ScoringError as error:
            raise RewardError(f"reward {self.name}, film {sample_ids[0]} and on: {error}") from error
        return scores
