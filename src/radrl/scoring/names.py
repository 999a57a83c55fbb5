"""Names of metrics: which there are, whose they are, which are asked for, what to say of another one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any, Final

import numpy as np

from radrl.evaluation.clinical_efficacy import gold_labeler
from radrl.evaluation.meteor import METEOR
from radrl.labelers import LabelMatrix
from radrl.observations import OBSERVATIONS
from radrl.parts.choices import hint, near
from radrl.parts.find import own_names
from radrl.scoring import Scores
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


def require_scored(metrics: Sequence[str], settings: Mapping[str, Any]) -> None:
    """Refuse headline figures that eval will not have, before anything is scored.

    Args:
        metrics: metrics of any kind, and `COUNTS`.
        settings: `families` and `labelers` of the section `eval`.

    Raises:
        ValueError: when one belongs to no family that eval scores, or is none of a family of `WITHOUT_MODEL`.
    """
    owners = _owners(settings)
    for metric in metrics:
        if metric not in COUNTS:
            owner = _owner(metric, owners, key="eval.headline")
            _require_known(metric, _all_of(owner), key="eval.headline")


def unknown_metric(name: str, valid: Sequence[str], *, key: str) -> str:
    """What to say of a metric's name that is none.

    Args:
        name: as given.
        valid: the names there are.
        key: where in params.yaml it stands.

    Returns:
        The message, with the likeliest meaning and every valid name.
    """
    return f"{key}: {name!r} is no metric{hint(name, valid, 'Valid names')}"


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
        raise ValueError(
            f"{key}: {metric!r} is none of what eval.families and eval.labelers give, whose "
            f"metrics begin with {', '.join(owners)}{near(metric, known, otherwise='')}"
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


EVAL: Final[dict[str, Any]] = {"nlg": {"preparation": "basic", "meteor": True}}
"""The section `eval` where no params.yaml says otherwise."""


class UnknownMetric(ValueError):
    """A metric that there is not; the message says what is near it."""


class Wanted:
    """The metrics that are asked for.

    Args:
        items: names of families or metrics, or patterns of metrics' names with ``*`` and ``?``.
        labelers: names of who reads the labels.
        settings: the section `eval`; a family with a model of its own is there when it can be had.

    Raises:
        UnknownMetric: for an item that is nothing.
    """

    def __init__(self, items: Sequence[str], labelers: Sequence[str], settings: Mapping[str, Any]) -> None:
        self.items = list(dict.fromkeys(items))
        self._labelers = labelers
        self._known = own_names("metric", settings)
        asked = {family for item in self.items for family in self._families(item, settings)}
        self.families = [family for family in self._known if family in asked]
        """In the order in which radrl lists them."""

    def has(self, metric: str, family: str) -> bool:
        """Whether a metric of a family is asked for."""
        return any(item == family or fnmatchcase(metric, item) for item in self.items)

    def require_found(self, found: Mapping[str, Sequence[str]]) -> None:
        """Refuse items that turned out to be nothing.

        Args:
            found: by family, the metrics it gave or skipped.

        Raises:
            UnknownMetric: naming the item.
        """
        for item in self.items:
            if item not in self._known and not _matching(item, found):
                raise self._unknown(item)

    def _families(self, item: str, settings: Mapping[str, Any]) -> list[str]:
        """The families that an item asks for."""
        if item in self._known:
            return [item]
        begun = re.split(r"[*?[]", item)[0]
        possible = [
            one for one in WITHOUT_MODEL if f"{one}_".startswith(begun) or begun.startswith(f"{one}_")
        ]
        found = _matching(item, {family: names(family, self._labelers) for family in possible})
        # what a model of its own would give is not known yet: the name's beginning says whose it is
        owner = max((one for one in self._known if begun.startswith(f"{one}_")), key=len, default=None)
        if owner is not None and owner not in WITHOUT_MODEL and (not found or settings.get(owner)):
            found.append(owner)
        if not found:
            raise self._unknown(item)
        return found

    def _unknown(self, item: str) -> UnknownMetric:
        known = [*self._known, *(name for family in WITHOUT_MODEL for name in names(family, self._labelers))]
        close = get_close_matches(item, known) or [name for name in known if item in name][:3]
        guess = f"; near it: {', '.join(close)}" if close else ""
        return UnknownMetric(f"no metric is {item!r}{guess}")


def _matching(item: str, known: Mapping[str, Sequence[str]]) -> list[str]:
    return [name for name, metrics in known.items() if any(fnmatchcase(one, item) for one in metrics)]
