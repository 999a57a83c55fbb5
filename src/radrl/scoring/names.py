"""Names of metrics: which there are, whose they are, and what to say of one that is none."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from radrl.evaluation.gold import gold_labeler
from radrl.evaluation.meteor import METEOR
from radrl.labelers.base import LabelMatrix
from radrl.observations import OBSERVATIONS
from radrl.scoring.base import Scores
from radrl.scoring.build import build

WITHOUT_MODEL: Final = ("ce", "nlg", "radgraph_rules", "green_rules", "weighted_findings")
"""The families that need no model or environment of their own, so that their metrics are known beforehand."""

ERROR_COUNTS: Final = {
    "green": ("green", "green_matched"),
    "green_rules": ("green_rules", "green_rules_matched"),
    "weighted_findings": ("weighted_findings",),
    "radmatch": (
        "radmatch_triage_recall",
        "radmatch_actionable_recall",
        "radmatch_triage_precision",
        "radmatch_actionable_precision",
    ),
}
"""Families of which more is worse, but for these metrics."""

COUNTS: Final = (
    "reports",
    "patients",
    "words_mean",
    "reference_words_mean",
    "empty_share",
    "distinct_share",
    "gold_reports",
    "gold_patients",
)
"""What stands among an arm's scores and is no metric."""

_REFERENCES: Final = ("no effusion .", "small right effusion .")
_HYPOTHESES: Final = ("no effusion .", "right effusion .")
"""A family's metrics are those it gives of these."""


@dataclass(slots=True)
class _Named:
    """Stands for a labeler of which the name alone matters."""

    name: str

    def label(self, reports: Sequence[str]) -> LabelMatrix:
        """Nothing is mentioned."""
        return np.zeros((len(reports), len(OBSERVATIONS)), dtype=np.int8)


def names(family: str, labelers: Sequence[str]) -> list[str]:
    """The metrics of a family of `WITHOUT_MODEL`.

    Args:
        family: its name.
        labelers: names of who would read the labels.

    Returns:
        The names, also of what would be skipped.
    """
    scores = _sample(family, labelers)
    return [*scores.corpus, *(name for name in scores.skipped if name not in scores.corpus)]


def group_names(metrics: Sequence[str], settings: Mapping[str, Any]) -> dict[str, list[str]]:
    """Sort the metrics of the comparison's table by who gives them, before anything is scored.

    Args:
        metrics: the section's `compare.metrics`.
        settings: `families` and `labelers` of the section `eval`.

    Returns:
        Metrics by family, those of clinical efficacy by family and labeler (``"ce_rules"``, and
        ``"ce_rules_gold"`` against gold labels), in the order of their first metrics.

    Raises:
        ValueError: when a metric belongs to no family that eval scores, is none of a family of
            `WITHOUT_MODEL`, or counts errors: every mark of the table takes more for better.
    """
    owners = _owners(settings)
    grouped: dict[str, list[str]] = {}
    for metric in metrics:
        owner = _owner(metric, owners, key="compare.metrics")
        _require_known(metric, _in_table(owner), key="compare.metrics")
        if metric not in ERROR_COUNTS.get(owner, (metric,)) or "radcliq" in metric:
            raise ValueError(
                f"compare.metrics: of {metric!r} less is better, which the table's marks would get wrong; "
                "leave it out (eval's scores have it)"
            )
        grouped.setdefault(owner, []).append(metric)
    return grouped


def require_scored(metrics: Sequence[str], settings: Mapping[str, Any], *, key: str) -> None:
    """Refuse figures that eval will not have, before anything is scored.

    Args:
        metrics: metrics of any kind, and `COUNTS`.
        settings: `families` and `labelers` of the section `eval`.
        key: where in params.yaml they stand.

    Raises:
        ValueError: when one belongs to no family that eval scores, or is none of a family of `WITHOUT_MODEL`.
    """
    owners = _owners(settings)
    for metric in metrics:
        if metric not in COUNTS:
            owner = _owner(metric, owners, key=key)
            _require_known(metric, _all_of(owner), key=key)


def unknown_metric(name: str, valid: Sequence[str], *, key: str) -> str:
    """What to say of a metric's name that is none.

    Args:
        name: as given.
        valid: the names there are.
        key: where in params.yaml it stands.

    Returns:
        The message, with the likeliest meaning and every valid name.
    """
    close = difflib.get_close_matches(name, valid, n=1)
    guess = f"; did you mean {close[0]!r}?" if close else "."
    return f"{key}: {name!r} is no metric{guess} Valid names: {', '.join(valid)}"


def _owners(settings: Mapping[str, Any]) -> list[str]:
    """What metrics' names begin with: families, and of clinical efficacy each reader's."""
    owners = [family for family in settings["families"] if family != "ce"]
    if "ce" in settings["families"]:
        owners += [
            f"ce_{each}" for labeler in settings["labelers"] for each in (labeler, gold_labeler(labeler))
        ]
    # apart from the rest of nlg, since its Java process is started only where it is asked for
    return [*owners, METEOR] if "nlg" in owners else owners


def _owner(metric: str, owners: Sequence[str], *, key: str) -> str:
    found = [name for name in owners if f"{metric}_".startswith(f"{name}_")]
    if not found:
        known = [name for owner in owners for name in _in_table(owner)]
        close = difflib.get_close_matches(metric, known, n=1)
        guess = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(
            f"{key}: {metric!r} is none of what eval.families and eval.labelers give, whose "
            f"metrics begin with {', '.join(owners)}{guess}"
        )
    return max(found, key=len)


def _require_known(metric: str, valid: Sequence[str], *, key: str) -> None:
    if valid and metric not in valid:
        raise ValueError(unknown_metric(metric, valid, key=key))


def _in_table(owner: str) -> list[str]:
    """The metrics that an owner of `group_names` gives with an interval; none where only its model knows."""
    if owner == METEOR:
        return [METEOR]
    family, labelers = _family(owner)
    return list(_sample(family, labelers).corpus) if family in WITHOUT_MODEL else []


def _all_of(owner: str) -> list[str]:
    """All metrics that an owner gives; none where only its model knows."""
    if owner == METEOR:
        return [METEOR]
    family, labelers = _family(owner)
    return names(family, labelers) if family in WITHOUT_MODEL else []


def _family(owner: str) -> tuple[str, list[str]]:
    return ("ce", [owner.removeprefix("ce_")]) if owner.startswith("ce_") else (owner, [])


def _sample(family: str, labelers: Sequence[str]) -> Scores:
    settings = {"nlg": {"preparation": "basic", "meteor": False}}  # METEOR starts a Java process
    (scorer,) = build([family], settings, [_Named(name) for name in labelers])
    return scorer.score(_REFERENCES, _HYPOTHESES)
