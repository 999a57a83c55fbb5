"""The scorers that params.yaml or the command line names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from radrl.labelers.base import Labeler
from radrl.parts.find import Part, find
from radrl.scoring.adapted import OfFunction
from radrl.scoring.base import Scorer, ScoringError
from radrl.scoring.shared_out import SharedOut

Settings = Mapping[str, Any]


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
            scorer = SharedOut(make, name, compute=compute, device=device, explained=explained)
        built.append(scorer)
    return built


def _scorer(name: str, own: Settings | None, labelers: Sequence[Labeler]) -> Scorer:
    part = find("metric", name, own)
    if own is None and any(field.is_required() for field in part.section.model_fields.values()):
        raise ScoringError(f"{name} is asked for but eval.{name} is not set, which says how")
    if part.asked:
        return OfFunction(part, own or {}, labelers)
    scorer: Scorer = part.make(own or {}, labelers=labelers, name=name)
    _require_name(part, scorer)
    return scorer


def _require_name(part: Part, scorer: Scorer) -> None:
    if getattr(scorer, "name", None) != part.name:
        raise ScoringError(
            f"{part.path} names its metrics after {getattr(scorer, 'name', None)!r}, but eval calls it "
            f"{part.name!r}; let it ask for `name` before its *, or have eval call it so"
        )
