"""Agreement of the labels of generated and reference reports, in every averaging, and finding by finding.

Published "clinical F1" figures differ in averaging, label set, reading of uncertain and the value of
0 / 0, and rarely say so. Here all are computed and a metric's name states its protocol:

    ce_{labeler}_{averaging}{label set}_{statistic}[_uncertain_pos][_undefined_1 | _undefined_dropped]

- averaging ``micro``: over all (study, label) pairs; ``macro``: mean over labels; ``weighted``: mean over
  labels by their support in the references; ``sample``: mean over reports of the report's own score;
  ``exact_match``: share of reports in which every label agrees (no statistic follows).
- label set ``14`` or ``5`` (`radrl.observations.FIVE`).
- statistic ``f1``, ``precision``, ``recall``. Macro F1 is the mean of the labels' F1, never 2PR/(P+R) of
  macro P and macro R.

An undefined value (0 / 0: nothing predicted, nothing present) is `zero_division`: 0 by default, which with
``sample14`` is PromptMRG's formula and with ``macro14`` the macro protocol of MambaXray-VL and OraPO (both
are scikit-learn's at zero_division=0); 1; or NaN, which leaves it out of the mean (CXRMate-2's macro).
What is not the default is in the name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from radrl.algorithms.f_measure import FloatArray, Labels, positives, ratio
from radrl.evaluation import Metrics, SummedMetrics, join
from radrl.observations import FIVE_INDEX, OBSERVATIONS, POSITIVE, UNCERTAIN

STATISTICS: Final = ("precision", "recall", "f1")
LABEL_SETS: Final[dict[int, tuple[int, ...]]] = {14: tuple(range(len(OBSERVATIONS))), 5: FIVE_INDEX}
AVERAGINGS: Final = ("sample", "micro", "macro", "weighted")
_SAMPLE_COLUMNS: Final = 2 * len(STATISTICS) + 1
"""Per label set: the three values (0 where undefined), whether each is defined, exact match."""


@dataclass(frozen=True, slots=True)
class LabelRow:
    """Scores of one observation under one reading of uncertain.

    Args:
        observation: its name.
        uncertain_as_positive: the reading.
        precision: TP / (TP + FP).
        recall: TP / (TP + FN).
        f1: 2 TP / (2 TP + FP + FN).
        support: reports whose reference is positive, TP + FN.
        predicted: reports whose hypothesis is positive, TP + FP.
    """

    observation: str
    uncertain_as_positive: bool
    precision: float
    recall: float
    f1: float
    support: int
    predicted: int


def label_rows(reference: Labels, hypothesis: Labels, *, zero_division: float = 0.0) -> list[LabelRow]:
    """Score each label.

    Args:
        reference: class indices of the N reference reports, shape (N, 14).
        hypothesis: class indices of the N generated reports, shape (N, 14).
        zero_division: value of 0 / 0.

    Returns:
        14 rows with uncertain read as not positive, then 14 with it read as positive.

    Raises:
        ValueError: when the shapes differ or are not (N, 14), or an entry is no class index.
    """
    return rows_of_counts(label_counts(reference, hypothesis), zero_division=zero_division)


def label_counts(reference: Labels, hypothesis: Labels) -> FloatArray:
    """What `rows_of_counts` reads; the counts of parts of the reports add up.

    Args:
        reference: class indices of the N reference reports, shape (N, 14).
        hypothesis: class indices of the N generated reports, shape (N, 14).

    Returns:
        TP, FP and FN of each label under either reading of uncertain, shape (2, 3, 14).

    Raises:
        ValueError: as `label_rows`.
    """
    readings = (
        _read(reference, hypothesis, uncertain_as_positive) for uncertain_as_positive in (False, True)
    )
    return np.array([[each.sum(axis=0) for each in reading] for reading in readings])


def rows_of_counts(counts: FloatArray, *, zero_division: float = 0.0) -> list[LabelRow]:
    """Score each label.

    Args:
        counts: of `label_counts`, shape (2, 3, 14).
        zero_division: value of 0 / 0.

    Returns:
        The rows of `label_rows`.
    """
    return [
        row
        for uncertain_as_positive, own in zip((False, True), counts, strict=True)
        for row in _label_rows(own, uncertain_as_positive, zero_division)
    ]


def label_agreement(
    reference: Labels, hypothesis: Labels, *, labeler: str, zero_division: float = 0.0
) -> SummedMetrics:
    """The metrics as functions of sums over studies, for their values and for the bootstrap.

    Args:
        reference: class indices of the N reference reports, shape (N, 14).
        hypothesis: class indices of the N generated reports, shape (N, 14).
        labeler: name of the labeler that read both; goes into every name.
        zero_division: value of 0 / 0: 0, 1, or NaN to leave it out of the mean (a mean with
            nothing defined is then NaN).

    Returns:
        The family of all metrics under both readings of uncertain.

    Raises:
        ValueError: when the shapes differ or are not (N, 14), N is 0, an entry is no class index, or
            zero_division is none of the three.
    """
    if not (math.isnan(zero_division) or zero_division in (0.0, 1.0)):
        raise ValueError(f"zero_division is {zero_division}; give 0, 1 or NaN")
    return join(
        *(
            SummedMetrics(
                _study_statistics(*_read(reference, hypothesis, uncertain_as_positive)),
                partial(
                    _metrics_of_sums,
                    prefix=f"ce_{labeler}",
                    suffix=_protocol_suffix(uncertain_as_positive, zero_division),
                    zero_division=zero_division,
                ),
            )
            for uncertain_as_positive in (False, True)
        )
    )


def metric_name(
    labeler: str,
    averaging: str,
    label_set: int,
    statistic: str | None,
    *,
    uncertain_as_positive: bool = False,
    zero_division: float = 0.0,
) -> str:
    """The name of a figure.

    Args:
        labeler: name of the labeler.
        averaging: one of `AVERAGINGS`, or ``"exact_match"``.
        label_set: 14 or 5.
        statistic: one of `STATISTICS`; nothing for exact match.
        uncertain_as_positive: the reading.
        zero_division: value of 0 / 0.

    Returns:
        The name.

    Example:
        >>> metric_name("rules", "sample", 14, "f1", uncertain_as_positive=True)
        'ce_rules_sample14_f1_uncertain_pos'
    """
    middle = f"{averaging}{label_set}" + (f"_{statistic}" if statistic else "")
    return f"ce_{labeler}_{middle}{_protocol_suffix(uncertain_as_positive, zero_division)}"


def _protocol_suffix(uncertain_as_positive: bool, zero_division: float) -> str:
    reading = "_uncertain_pos" if uncertain_as_positive else ""
    if math.isnan(zero_division):
        return f"{reading}_undefined_dropped"
    return f"{reading}_undefined_1" if zero_division == 1 else reading


def _read(
    reference: Labels, hypothesis: Labels, uncertain_as_positive: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """TP, FP and FN of every study and label, shape (N, 14) each."""
    for side, labels in (("reference", reference), ("hypothesis", hypothesis)):
        if np.ndim(labels) != 2 or np.shape(labels)[1] != len(OBSERVATIONS):
            raise ValueError(f"{side} labels have shape {np.shape(labels)}; give (N, {len(OBSERVATIONS)})")
    if len(reference) != len(hypothesis):
        raise ValueError(f"{len(reference)} reference rows but {len(hypothesis)} hypothesis rows; pair them")
    truth = positives(reference, uncertain_as_positive=uncertain_as_positive)
    found = positives(hypothesis, uncertain_as_positive=uncertain_as_positive)
    return (
        (truth & found).astype(np.float64),
        (~truth & found).astype(np.float64),
        (truth & ~found).astype(np.float64),
    )


def _study_statistics(tp: FloatArray, fp: FloatArray, fn: FloatArray) -> FloatArray:
    """What a study adds: its 3 x 14 counts, 7 sample-wise columns a label set, and a 1; shape (N, 57)."""
    columns = [tp, fp, fn]
    for index in LABEL_SETS.values():
        own = [counts[:, index].sum(axis=1) for counts in (tp, fp, fn)]
        scores = np.column_stack(_precision_recall_f1(*own, undefined=math.nan))  # (N, 3)
        exact = (own[1] + own[2]) == 0
        columns += [np.nan_to_num(scores), ~np.isnan(scores), exact[:, np.newaxis]]
    return np.concatenate([*columns, np.ones((len(tp), 1))], axis=1).astype(np.float64)


def _metrics_of_sums(sums: FloatArray, *, prefix: str, suffix: str, zero_division: float) -> Metrics:
    """Metrics by full name from sums of `_study_statistics`, shape (..., 57)."""
    labels = len(OBSERVATIONS)
    counts = sums[..., : 3 * labels].reshape(*sums.shape[:-1], 3, labels)  # (..., TP FP FN, 14)
    studies = sums[..., -1]
    metrics: Metrics = {}
    for i, (size, index) in enumerate(LABEL_SETS.items()):
        start = 3 * labels + i * _SAMPLE_COLUMNS
        own = sums[..., start : start + _SAMPLE_COLUMNS]
        averages = _label_averages(counts[..., index], zero_division)
        averages["sample"] = _sample_averages(own[..., :3], own[..., 3:6], studies, zero_division)
        for averaging in AVERAGINGS:
            for statistic, value in zip(STATISTICS, averages[averaging], strict=True):
                metrics[f"{prefix}_{averaging}{size}_{statistic}{suffix}"] = value
        metrics[f"{prefix}_exact_match{size}{suffix}"] = own[..., -1] / studies
    return metrics


def _label_averages(counts: FloatArray, zero_division: float) -> dict[str, tuple[FloatArray, ...]]:
    """Micro, macro and weighted (precision, recall, F1) from counts of shape (..., 3, labels)."""
    tp, fp, fn = counts[..., 0, :], counts[..., 1, :], counts[..., 2, :]
    by_label = _precision_recall_f1(tp, fp, fn, undefined=zero_division)
    pooled = (tp.sum(axis=-1), fp.sum(axis=-1), fn.sum(axis=-1))
    return {
        "micro": _precision_recall_f1(*pooled, undefined=zero_division),
        "macro": tuple(_weighted_mean(score, np.ones_like(tp), zero_division) for score in by_label),
        "weighted": tuple(_weighted_mean(score, tp + fn, zero_division) for score in by_label),
    }


def _sample_averages(
    totals: FloatArray, defined: FloatArray, studies: FloatArray, zero_division: float
) -> tuple[FloatArray, ...]:
    """Means over reports from the sums of the defined values and their number, shape (..., 3) each."""
    if math.isnan(zero_division):
        means = ratio(totals, defined, math.nan)
    else:
        undefined = studies[..., np.newaxis] - defined
        means = (totals + zero_division * undefined) / studies[..., np.newaxis]
    return tuple(means[..., i] for i in range(len(STATISTICS)))


def _precision_recall_f1(
    tp: FloatArray, fp: FloatArray, fn: FloatArray, *, undefined: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    f1 = ratio(2 * tp, 2 * tp + fp + fn, undefined)
    return ratio(tp, tp + fp, undefined), ratio(tp, tp + fn, undefined), f1


def _weighted_mean(values: FloatArray, weights: FloatArray, undefined: float) -> FloatArray:
    """Mean over the last axis, leaving NaN values out with their weight."""
    weights = np.where(np.isnan(values), 0.0, weights)
    return ratio((np.nan_to_num(values) * weights).sum(axis=-1), weights.sum(axis=-1), undefined)


def _label_rows(counts: FloatArray, uncertain_as_positive: bool, zero_division: float) -> list[LabelRow]:
    tp, fp, fn = counts
    precision, recall, f1 = _precision_recall_f1(tp, fp, fn, undefined=zero_division)
    return [
        LabelRow(
            observation=name,
            uncertain_as_positive=uncertain_as_positive,
            precision=float(precision[i]),
            recall=float(recall[i]),
            f1=float(f1[i]),
            support=int(tp[i] + fn[i]),
            predicted=int(tp[i] + fp[i]),
        )
        for i, name in enumerate(OBSERVATIONS)
    ]


VERDICTS: Final = ("right", "hedged", "missed", "wrong")
ASSERTED: Final = (POSITIVE, UNCERTAIN)


def finding_verdicts(reference: Sequence[int], labels: Sequence[int]) -> dict[str, str]:
    """What a report got right, hedged, missed or made up.

    Args:
        reference: 14 class indices.
        labels: 14 class indices of the report.

    Returns:
        A verdict by observation that either asserts: ``right`` where both are positive or both uncertain,
        ``hedged`` where one is positive and the other uncertain, ``missed`` and ``wrong`` where only the
        reference or only the report asserts it.

    Example:
        >>> finding_verdicts([0, 1, 1, 0, 1] + [0] * 9, [0, 1, 3, 1, 0] + [0] * 9)
        {'Cardiomegaly': 'right', 'Lung Opacity': 'hedged', 'Lung Lesion': 'wrong', 'Edema': 'missed'}
    """
    found = {}
    for name, known, said in zip(OBSERVATIONS, reference, labels, strict=True):
        if known in ASSERTED and said in ASSERTED:
            found[name] = "right" if known == said else "hedged"
        elif known in ASSERTED:
            found[name] = "missed"
        elif said in ASSERTED:
            found[name] = "wrong"
    return found
