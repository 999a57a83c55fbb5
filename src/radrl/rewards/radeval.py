"""A figure of RadEval's for each report, such as RaTEScore, in a process of its own, as a reward."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final, Literal, get_args

from pydantic import AfterValidator

from radrl.evaluation import FloatArray
from radrl.parts.choices import hint
from radrl.parts.section import LocalPath, PositiveFloat, Section
from radrl.rewards.base import RewardError
from radrl.scoring import ScoringError, isolated, radeval

Metric = Literal[
    "ratescore",
    "bertscore",
    "radeval_bertscore",
    "srrbert",
    "radgraph",
    "radgraph_radcliq",
    "f1chexbert",
    "temporal",
    "rouge",
    "bleu",
]
"""Those that give each report a figure of which more is better; RadCliQ is a distance, CRIMSON held out."""
METRICS: Final[tuple[str, ...]] = get_args(Metric)
_TRIAL: Final = "There is a small left pleural effusion. No pneumothorax."


def _learnable(metric: str) -> str:
    if metric == "crimson":
        raise ValueError(
            "crimson judges what was trained, and no reward is made of it (docs/howto/rexrank.md)"
        )
    if metric not in METRICS:
        raise ValueError(f"no metric that a report can earn by{hint(metric, METRICS, 'There are')}")
    return metric


class RadEvalRewardSection(Section):
    """The package and its weights as eval.radeval has them, and which of its figures."""

    python: LocalPath | None
    metric: Annotated[str, AfterValidator(_learnable)]
    figure: str | None = None
    models: LocalPath | None
    blank: float = 0.0
    timeout: PositiveFloat = 1800.0


class RadEval:
    """One of the figures that RadEval gives a report, as the metric ``radeval_<figure>`` has it.

    A report without a word is not handed over, for RadEval's metrics drop it or end with an error: it earns
    `blank`. What RadEval has no finite figure for is a missing score, and so is every report against a
    reference without a word.

    Args:
        name: what the part goes by, so that an arm may have several.
        python: interpreter of the environment with `radeval`; the running one when nothing.
        metric: one of `METRICS`.
        figure: in lower case, where the metric has several (rouge: ``rouge1``, ``rouge2``, ``rougel``);
            nothing for its only one.
        models: folder with the weights that it reads (`radrl.scoring.radeval.NEEDS`).
        blank: what a report without a word earns.
        timeout: seconds without a sign of life after which the worker counts as hung.

    Raises:
        RewardError: when the metric is none to learn from, weights are missing, or there is no interpreter.
    """

    Section = RadEvalRewardSection
    clinical, waits = True, True
    reads: Literal["report", "output"] = "report"
    told: Mapping[str, float] = {}

    def __init__(
        self,
        name: str = "radeval",
        *,
        python: str | Path | None,
        metric: str,
        figure: str | None = None,
        models: str | Path | None,
        blank: float = 0.0,
        timeout: float = isolated.SILENCE,
    ) -> None:
        self.name, self._figure, self._blank = name, figure, blank
        self.clinical = metric not in ("bertscore", "radeval_bertscore", "rouge", "bleu")
        try:
            self._scorer = radeval.RadEval(
                python=python, metrics=[_learnable(metric)], models=models, timeout=timeout
            )
        except (ScoringError, ValueError) as error:
            raise RewardError(f"reward {name}: {error}") from error

    @contextmanager
    def opened(self) -> Iterator[dict[str, str]]:
        """See `radrl.rewards.base.Reward`; the worker has scored a pair by then."""
        with isolated.kept():
            if not math.isfinite(self._scores([_TRIAL], [_TRIAL], "the trial")[0]):
                raise RewardError(
                    f"reward {self.name}: RadEval gives a report against itself no finite figure"
                )
            yield self._scorer.about

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> Sequence[float]:
        """See `radrl.rewards.base.Reward`.

        Raises:
            RewardError: when the worker fails, or gives some reports no figure.
        """
        scores = [self._blank if reference.strip() else math.nan for reference in references]
        rows = [row for row, report in enumerate(reports) if report.strip() and references[row].strip()]
        if rows:
            truth, found = ([texts[row] for row in rows] for texts in (references, reports))
            asked = f"film {sample_ids[rows[0]]} and on"
            for row, score in zip(rows, self._scores(truth, found, asked), strict=True):
                scores[row] = float(score)
        return scores

    def _scores(self, references: Sequence[str], reports: Sequence[str], asked: str) -> FloatArray:
        try:
            found = self._scorer.per_report(references, reports)
        except ScoringError as error:
            raise RewardError(f"reward {self.name}, {asked}: {error}") from error
        figures = {name.removeprefix("radeval_"): values for name, values in found.items()}
        chosen = self._figure or (next(iter(figures)) if len(figures) == 1 else "")
        if chosen not in figures:
            raise RewardError(
                f"reward {self.name}: figure is {self._figure!r}{hint(chosen, figures, 'There are')}"
            )
        return figures[chosen]
