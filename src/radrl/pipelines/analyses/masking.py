"""Are the heavy tokens the ones that carry the diagnosis? DEER, table 6."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from radrl.algorithms.f_measure import BoolArray, FloatArray, report_f1
from radrl.algorithms.masking import Unit, label_modification_ratio, mask_text, top_tokens
from radrl.evaluation import SummedMetrics, mean_metrics
from radrl.evaluation.draws import Draw, generator
from radrl.evaluation.paired import tabulate_with_tests
from radrl.labelers import Labeler, LabelMatrix
from radrl.pipelines.analyses import groups
from radrl.pipelines.analyses.groups import AnalysisSettings

if TYPE_CHECKING:
    from radrl.algorithms.saliency import Spans
    from radrl.credit.base import Rollouts, TokenWeights

METRICS: Final = ("label_modification_ratio", "post_masking_f1")
"""As DEER's table 6 has them."""
RANDOM: Final = "random"
"""The strategy that the others are held against."""


def heaviest(
    weights: Sequence[FloatArray], spans: Sequence[Spans], *, share: float, rng: np.random.Generator
) -> list[BoolArray]:
    """The heaviest share of each report's tokens.

    Args:
        weights: of the tokens of N reports, shapes (T_i,).
        spans: their places, shapes (T_i, 2); tokens that stand for no text are not counted.
        share: of a report's tokens.
        rng: decides between equal weights.

    Returns:
        Booleans, shapes (T_i,).
    """
    width = max(map(len, weights), default=0)
    padded, counted = np.ones((len(weights), width)), np.zeros((len(weights), width), np.bool_)
    for row, (own, places) in enumerate(zip(weights, spans, strict=True)):
        padded[row, : len(own)], counted[row, : len(own)] = own, places[:, 0] < places[:, 1]
    top = top_tokens(padded, counted, share=share, rng=rng)
    return [top[row, : len(own)] for row, own in enumerate(weights)]


def masked_reports(
    rollouts: Rollouts, weights: Mapping[str, TokenWeights], settings: Mapping[str, Any], *, seed: int
) -> dict[str, list[str]]:
    """The reports without their heaviest tokens, and without as many at random.

    Args:
        rollouts: N reports.
        weights: of their tokens, by strategy.
        settings: `analyses.masking`.
        seed: of the random row and of ties, the same for each strategy.

    Returns:
        By strategy, random first, N texts.
    """
    spans = next(iter(weights.values())).spans
    values = {RANDOM: [np.ones(len(own)) for own in spans]}
    values |= {name: list(own.values) for name, own in weights.items()}
    masked = {
        name: heaviest(own, spans, share=settings["share"], rng=generator(seed, Draw.MASKED_TOKENS))
        for name, own in values.items()
    }
    return {
        name: [
            mask_text(text, places, chosen, replacement=settings["replacement"])
            for text, places, chosen in zip(rollouts.outputs, spans, own, strict=True)
        ]
        for name, own in masked.items()
    }


def changes(
    before: LabelMatrix, after: LabelMatrix, *, group: int, unit: Unit, f1: Mapping[str, Any]
) -> SummedMetrics:
    """What masking did to the labels, a value a film.

    Args:
        before: labels of N reports, the K of a film side by side, shape (N, 14).
        after: labels of the masked reports, shape (N, 14).
        group: K.
        unit: `analyses.masking.unit`.
        f1: `analyses.f1`.

    Returns:
        Label modification ratio and post-masking F1, over N / K films.
    """
    reading = f1["uncertain_as_positive"]
    ratios = [
        label_modification_ratio(before[at], after[at], unit=unit, uncertain_as_positive=reading)
        for at in (slice(start, start + group) for start in range(0, len(before), group))
    ]
    scores = report_f1(before, after, both_empty=f1["both_empty"], uncertain_as_positive=reading)
    return mean_metrics(dict(zip(METRICS, (ratios, scores.reshape(-1, group).mean(axis=1)), strict=True)))


def rows(
    labeler: Labeler,
    rollouts: Rollouts,
    masked: Mapping[str, Sequence[str]],
    *,
    unit: Unit,
    f1: Mapping[str, Any],
) -> dict[str, SummedMetrics]:
    """What masking by each strategy did to the labels that one labeler reads.

    Args:
        labeler: reads before and after.
        rollouts: N reports.
        masked: by strategy, the masked reports.
        unit: `analyses.masking.unit`.
        f1: `analyses.f1`.

    Returns:
        By strategy, the metrics of `changes`.
    """
    before = labeler.label(rollouts.outputs)
    return {
        strategy: changes(before, labeler.label(texts), group=rollouts.group, unit=unit, f1=f1)
        for strategy, texts in masked.items()
    }


def tabulate(
    reader: Callable[[str], Labeler],
    frame: pd.DataFrame,
    rollouts: Rollouts,
    masked: Mapping[str, Sequence[str]],
    settings: AnalysisSettings,
) -> pd.DataFrame:
    """Table 6 as each labeler reads it, with intervals.

    Args:
        reader: gives a labeler by its name.
        frame: a table of `groups.read`.
        rollouts: the same, of `groups.tokenised`.
        masked: of `masked_reports`.
        settings: the labelers, how rewards and ratios are counted, and the resamples.

    Returns:
        A line a labeler, strategy and metric, with the columns of `tabulate_with_tests`, how many films and
        rollouts.
    """
    patients = groups.patients(frame)
    unit, f1 = settings.analyses["masking"]["unit"], settings.analyses["f1"]
    found: list[dict[str, Any]] = []
    for name in settings.readers:
        tabulated = tabulate_with_tests(
            rows(reader(name), rollouts, masked, unit=unit, f1=f1),
            patients,
            reference=RANDOM,
            tested=[strategy for strategy in masked if strategy != RANDOM],
            bootstrap=settings.bootstrap,
            seed=settings.seed,
        )
        found += [{"labeler": name, "strategy": line.pop("row")} | line for line in tabulated]
    return pd.DataFrame(found).assign(films=len(patients), rollouts=len(frame))


def unweighted_share(weights: TokenWeights) -> float:
    """Share of reports all of whose tokens weigh the same, so that chance alone says which are masked."""
    return float(np.mean([np.ptp(own) == 0 if len(own) else True for own in weights.values]))
