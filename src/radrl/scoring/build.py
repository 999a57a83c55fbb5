"""The scorers that params.yaml or the command line names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from radrl.labelers.base import Labeler
from radrl.scoring.base import Scorer, ScoringError

Settings = Mapping[str, Any]


def build(families: Sequence[str], settings: Settings, labelers: Sequence[Labeler]) -> list[Scorer]:
    """Build scorers.

    Args:
        families: names of the families of metrics, keys of `FAMILIES`.
        settings: the section `eval` of params.yaml; a family reads the key of its own name.
        labelers: who read the labels of the family ``ce``.

    Returns:
        The scorers, in the given order.

    Raises:
        ScoringError: for an unknown family, or one whose settings or tools are missing.
    """
    scorers = []
    for name in families:
        if name not in FAMILIES:
            raise ScoringError(f"no family of metrics {name!r}; there are {', '.join(FAMILIES)}")
        scorers.append(FAMILIES[name](settings, labelers))
    return scorers


def _own(settings: Settings, name: str) -> dict[str, Any]:
    own = settings.get(name)
    if own is None:
        raise ScoringError(f"{name} is asked for but eval.{name} is not set: it needs a model of its own")
    return dict(own)


def _ce(settings: Settings, labelers: Sequence[Labeler]) -> Scorer:
    from radrl.scoring.clinical import ClinicalEfficacy

    return ClinicalEfficacy(labelers)


def _nlg(settings: Settings, labelers: Sequence[Labeler]) -> Scorer:
    from radrl.scoring.nlg import Nlg

    return Nlg(**settings["nlg"])


def _radgraph_rules(settings: Settings, labelers: Sequence[Labeler]) -> Scorer:
    from radrl.scoring.rules.graph import RadGraphRules

    return RadGraphRules()


def _green_rules(settings: Settings, labelers: Sequence[Labeler]) -> Scorer:
    from radrl.scoring.rules.errors import GreenRules

    return GreenRules()


def _radgraph(settings: Settings, labelers: Sequence[Labeler]) -> Scorer:
    from radrl.scoring.radgraph import RadGraph

    own = _own(settings, "radgraph")
    return RadGraph(**own | {"python": _path(own["python"]), "model": Path(own["model"])})


def _green(settings: Settings, labelers: Sequence[Labeler]) -> Scorer:
    from radrl.scoring.green import Green
    from radrl.scoring.judge.build import build as build_judge

    own = _own(settings, "green")
    return Green(build_judge(own["judge"]), missing=own["missing"])


def _radeval(settings: Settings, labelers: Sequence[Labeler]) -> Scorer:
    from radrl.scoring.radeval import RadEval

    own = _own(settings, "radeval")
    return RadEval(**own | {"python": _path(own["python"]), "models": _path(own["models"])})


def _path(value: str | None) -> Path | None:
    return None if value is None else Path(value)


FAMILIES: Final[dict[str, Callable[[Settings, Sequence[Labeler]], Scorer]]] = {
    "ce": _ce,
    "nlg": _nlg,
    "radgraph_rules": _radgraph_rules,
    "green_rules": _green_rules,
    "radgraph": _radgraph,
    "green": _green,
    "radeval": _radeval,
}
"""How each family's scorer is made. A family's metrics begin with its name."""
