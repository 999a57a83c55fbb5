"""The labeler `chexbert` as params.yaml names it."""

from __future__ import annotations

from pathlib import Path

from radrl.labelers import Labeler
from radrl.parts.section import Nothing, takes


@takes(Nothing)
def chexbert(models: Path | None, device: str, remembers: bool = True) -> Labeler:
    """The published CheXbert, whose folder is `labeler.chexbert`.

    Args:
        models: what the stage `labeler` wrote.
        device: where it runs.
        remembers: whether it keeps labels from call to call.
    """
    from radrl.labelers.chexbert.labeler import stored

    return stored(models, "chexbert", device=device, key="labeler.chexbert", remembers=remembers)
