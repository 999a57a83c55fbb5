"""The scorers that params.yaml or the command line names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from radrl.labelers.base import Labeler
from radrl.parts.find import Part, find
from radrl.scoring.adapted import OfFunction
from radrl.scoring.base import Scorer, ScoringError

Settings = Mapping[str, Any]


def build(families: Sequence[str], settings: Settings, labelers: Sequence[Labeler]) -> list[Scorer]:
    """Build scorers.

    Args:
        families: names of metrics, or of families of them.
        settings: the section `eval` of params.yaml; a family reads the key of its own name.
        labelers: who read the labels of the family ``ce``.

    Returns:
        The scorers, in the given order.

    Raises:
        radrl.parts.find.PartError: for a family that cannot be had.
        ScoringError: for one whose settings or tools are missing.
    """
    return [_scorer(name, settings.get(name), labelers) for name in families]


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
