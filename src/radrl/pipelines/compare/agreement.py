"""How the rows agree with the references: precision and recall of each, F1 of each label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from radrl.evaluation.clinical_efficacy import clinical_efficacy
from radrl.evaluation.label_agreement import metric_name
from radrl.pipelines.compare.rows import CEILING
from radrl.pipelines.compare.scores import Group, score_rows
from radrl.readers.names import READERS

if TYPE_CHECKING:
    from radrl.pipelines.compare.rows import Row
    from radrl.scoring.texts import Texts

STATISTICS: Final = ("precision", "recall", "f1")


def metrics(labeler: str) -> list[str]:
    """The pooled precision, recall and F1 of all 14 labels, the stricter reading.

    Args:
        labeler: who read both sides.
    """
    return [metric_name(labeler, "micro", 14, statistic) for statistic in STATISTICS]


def agree(rows: Mapping[str, Row], group: Group, references: Texts, labeler: str) -> pd.DataFrame:
    """Each row's pooled precision and recall.

    Args:
        rows: of `radrl.pipelines.compare.rows.all_rows`.
        group: a scorer of clinical efficacy by `labeler`; whichever its metrics are.
        references: the N reference reports.
        labeler: who read both sides.

    Returns:
        arm, kind, precision, recall and f1, a line a row in their order.
    """
    names = metrics(labeler)
    found = score_rows(rows, replace(group, metrics=names), references)
    values = {name: found[name].summed.values() for name in rows if name in found}
    return pd.DataFrame(
        [
            {"arm": name, "kind": _kind(name, rows[name])}
            | {statistic: own[metric] for statistic, metric in zip(STATISTICS, names, strict=True)}
            for name, own in values.items()
        ]
    )


def _kind(name: str, row: Row) -> str:
    if row.stored is not None:
        return "arm"
    return "reader" if name in READERS else "ceiling" if name == CEILING else "trivial"


def per_label(arms: Mapping[str, pd.DataFrame], labeler: str) -> list[dict[str, Any]]:
    """F1 per observation and arm, the stricter reading.

    Args:
        arms: by arm, its reports with labels, over the same films.
        labeler: who read both sides.

    Returns:
        Of each observation its name, positives in the references, and a row of
        `radrl.evaluation.label_agreement.LabelRow` by arm; the most frequent first.
    """
    by_observation: dict[str, dict[str, Any]] = {}
    for arm, frame in arms.items():
        truth, found = (np.stack(frame[side].to_list()) for side in ("reference_labels", "labels"))
        for row in clinical_efficacy(truth, found, labeler=labeler).per_label:
            if not row.uncertain_as_positive:
                entry = by_observation.setdefault(row.observation, {"support": row.support, "arms": {}})
                entry["arms"][arm] = row
    entries = [{"observation": name, **entry} for name, entry in by_observation.items()]
    return sorted(entries, key=lambda entry: -entry["support"])
