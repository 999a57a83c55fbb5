"""The labeler that params.yaml names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from radrl.labelers.base import Labeler, LabelerError
from radrl.labelers.rules.labeler import RulesLabeler
from radrl.observations import POSITIVE, UNCERTAIN
from radrl.storage import pointers

_ALTERNATIVES: Final = {"positive": POSITIVE, "uncertain": UNCERTAIN}


def build(settings: Mapping[str, Any], models: Path | None = None, *, name: str | None = None) -> Labeler:
    """Build a labeler.

    Args:
        settings: the section `labeler` of params.yaml.
        models: what the stage `labeler` wrote; the rules need none.
        name: which labeler; by default `labeler.name`.

    Returns:
        The labeler.

    Raises:
        LabelerError: for an unknown name, or when the labeler's model is not there.
        FileNotFoundError: when a file of a model that is pointed at is gone.
        ValueError: when one has changed since the stage `labeler` saw it.
    """
    name = name or settings["name"]
    if name not in LABELERS:
        raise LabelerError(f"no labeler {name!r}; there are {', '.join(LABELERS)}")
    return LABELERS[name](settings, models)


def _rules(settings: Mapping[str, Any], models: Path | None) -> Labeler:
    rules = settings["rules"]
    return RulesLabeler(
        alternatives=_ALTERNATIVES[rules["alternatives"]], other_findings=rules["other_findings"]
    )


def _chexbert(name: str) -> Callable[[Mapping[str, Any], Path | None], Labeler]:
    def make(settings: Mapping[str, Any], models: Path | None) -> Labeler:
        from radrl.labelers.chexbert.labeler import CheXbertLabeler

        if models is None or not (models / name).is_dir():
            mend = {"chexbert": "labeler.chexbert", "chexbert_compact": "labeler.compact"}[name]
            raise LabelerError(f"there is no model of {name}: set {mend} and run the stage labeler")
        weights = pointers.resolve(models / name, stage="labeler")
        return CheXbertLabeler.from_folder(weights, name=name, device=settings["device"])

    return make


LABELERS: Final[dict[str, Callable[[Mapping[str, Any], Path | None], Labeler]]] = {
    "rules": _rules,
    "chexbert": _chexbert("chexbert"),
    "chexbert_compact": _chexbert("chexbert_compact"),
}
"""How each labeler is made; the key is its name in params.yaml and in every metric."""
