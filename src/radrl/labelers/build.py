"""The labeler that params.yaml names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from radrl.labelers.adapted import Adapted
from radrl.labelers.base import Labeler
from radrl.parts.find import find


def build(settings: Mapping[str, Any], models: Path | None = None, *, name: str | None = None) -> Labeler:
    """Build a labeler.

    Args:
        settings: the section `labeler` of params.yaml.
        models: what the stage `labeler` wrote; the rules need none.
        name: which labeler; by default `labeler.name`.

    Returns:
        The labeler.

    Raises:
        radrl.parts.find.PartError: for a labeler that cannot be had.
        LabelerError: when the labeler's model is not there.
        FileNotFoundError: when a file of a model that is pointed at is gone.
        ValueError: when one has changed since the stage `labeler` saw it.
    """
    name = name or settings["name"]
    given = settings.get(name)
    own = given if isinstance(given, Mapping) else {}  # `chexbert` is a path, which is in `models` by now
    part = find("labeler", name, own)
    if part.asked:
        return Adapted(partial(part.object, **part.settings(own)), name)
    made: Labeler = part.make(own, models=models, device=settings.get("device", "cpu"), name=name)
    return made if part.origin == "built-in" else Adapted(made.label, name)
