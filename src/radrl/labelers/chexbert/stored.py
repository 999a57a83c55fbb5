"""A CheXbert as the stage labeler left it."""

from __future__ import annotations

from pathlib import Path

from radrl.labelers.base import Labeler, LabelerError
from radrl.storage import pointers


def stored(models: Path | None, name: str, *, device: str, key: str, remembers: bool = True) -> Labeler:
    """Load a CheXbert.

    Args:
        models: what the stage `labeler` wrote.
        name: of its folder in there, and of the labeler.
        device: where it runs.
        key: what in params.yaml gives it a model.
        remembers: whether it keeps labels from call to call.

    Raises:
        LabelerError: when its model is not there.
        FileNotFoundError: when a file of a model that is pointed at is gone.
        ValueError: when one has changed since the stage `labeler` saw it.
    """
    from radrl.labelers.chexbert.labeler import CheXbertLabeler

    if models is None or not (models / name).is_dir():
        raise LabelerError(f"there is no model of {name}: set {key} and run the stage labeler")
    weights = pointers.resolve(models / name, stage="labeler")
    kept = {} if remembers else {"cache_size": 0}
    return CheXbertLabeler.from_folder(weights, name=name, device=device, **kept)
