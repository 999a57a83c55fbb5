"""A labeler by its name and its model's folder, where no params.yaml says more."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from radrl.labelers.base import Labeler, LabelerError
from radrl.labelers.build import build
from radrl.parts.find import find
from radrl.parts.signature import ingredients
from radrl.process.devices import place

RULES: Final[Mapping[str, Any]] = {"alternatives": "uncertain", "other_findings": True}
"""The rules' settings: CheXpert's reading."""

LABELER: Final[dict[str, Any]] = {"rules": dict(RULES)}
"""The section `labeler` where no params.yaml says otherwise."""


def needs_model(name: str, settings: Mapping[str, Any]) -> bool:
    """Whether a labeler reads with a model.

    Args:
        name: of the labeler.
        settings: the section `labeler` of params.yaml.

    Raises:
        radrl.parts.find.PartError: for a labeler that cannot be had.
    """
    return "models" in ingredients(find("labeler", name, settings.get(name)).object)


def load(
    name: str, settings: Mapping[str, Any], *, model: Path | None = None, device: str = "cpu"
) -> Labeler:
    """Load a labeler.

    Args:
        name: of the labeler.
        settings: the section `labeler` of params.yaml.
        model: of one that needs it, its weights or their folder, or a folder with one named as the labeler.
        device: where the model runs, as params.yaml's `device`.

    Returns:
        The labeler.

    Raises:
        radrl.parts.find.PartError: for a labeler that cannot be had.
        radrl.labelers.base.LabelerError, FileNotFoundError, ValueError: when its model cannot be had.
        radrl.process.devices.DeviceError: when the device is not there.
    """
    if model is None or not needs_model(name, settings):
        return build(settings, name=name)
    if (model / name).is_dir():
        return build(settings, model, name=name, device=device)
    from radrl.labelers.chexbert.labeler import CheXbertLabeler

    return CheXbertLabeler.from_folder(model, name=name, device=place(device))


def one(given: str | Labeler) -> Labeler:
    """The labeler that is handed over, or the one of this name with the settings of `LABELER`.

    Args:
        given: a labeler, or the name of one that needs no model.

    Returns:
        The labeler.

    Raises:
        radrl.parts.find.PartError: for a name that is none.
        LabelerError: for one that reads with a model.
    """
    if not isinstance(given, str):
        return given
    find("labeler", given, key="labeler")
    if needs_model(given, LABELER):
        raise LabelerError(
            f"labeler {given!r} reads with a model: give radrl.load_labeler({given!r}, model=...)"
        )
    return load(given, LABELER)
