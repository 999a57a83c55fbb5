"""The labeler that params.yaml names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from radrl.labelers.adapted import Adapted
from radrl.labelers.base import Labeler
from radrl.parts.find import find
from radrl.parts.signature import ingredients
from radrl.process.devices import place


def build(
    settings: Mapping[str, Any],
    models: Path | None = None,
    *,
    name: str | None = None,
    device: str = "cpu",
    threads: int | None = None,
    remembers: bool = True,
) -> Labeler:
    """Build a labeler.

    Args:
        settings: the section `labeler` of params.yaml.
        models: what the stage `labeler` wrote; the rules need none.
        name: which labeler; by default `labeler.name`.
        device: where one that asks for it computes, as params.yaml's `device`.
        threads: of torch, for one that computes with it; nothing leaves them as they are.
        remembers: whether a CheXbert may keep labels from call to call, which hang on the call by rounding.

    Returns:
        The labeler.

    Raises:
        radrl.parts.find.PartError: for a labeler that cannot be had.
        LabelerError: when the labeler's model is not there.
        radrl.process.devices.DeviceError: when the device is not there.
        FileNotFoundError: when a file of a model that is pointed at is gone.
        ValueError: when one has changed since the stage `labeler` saw it.
    """
    name = name or settings["name"]
    given = settings.get(name)
    own = given if isinstance(given, Mapping) else {}  # `chexbert` is a path, which is in `models` by now
    part = find("labeler", name, own)
    if part.asked:
        return Adapted(partial(part.object, **part.settings(own)), name)
    # the rules need neither torch nor a device that is there
    placed = {"device": _placed(device, threads)} if "device" in ingredients(part.object) else {}
    made: Labeler = part.make(own, models=models, name=name, remembers=remembers, **placed)
    return made if part.origin == "built-in" else Adapted(made.label, name)


def _placed(device: str, threads: int | None) -> str:
    where = place(device)
    if threads is not None:
        from radrl.process.runtime import pin

        pin(threads, where)
    return str(where)
