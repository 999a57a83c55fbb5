"""A trained arm as the writer of ReXrank's reports."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from radrl.reporting import Asked, Reporter, TrainedArm, film_as_seen
from radrl.rexrank.form import Study, context
from radrl.storage.digests import sha256


class ArmWriter:
    """See `radrl.rexrank.predictions.Writer`.

    Args:
        reporter: the arm's policy, open.
        asked: how it is asked.
    """

    def __init__(self, reporter: Reporter, asked: Asked) -> None:
        self._reporter, self._asked = reporter, asked

    def picture(self, film: Path) -> bytes:
        """See `radrl.rexrank.predictions.Writer`: as ingest brings films into the corpus."""
        return film_as_seen(film, self._asked)

    def write(self, studies: Sequence[Study], pictures: Sequence[tuple[bytes, ...]], first: int) -> list[str]:
        """See `radrl.rexrank.predictions.Writer`: as generate lets the policy write."""
        known = [context(study.entry) for study in studies]
        return [report.text for report in self._reporter.write(pictures, first=first, known=known)]


def about(arm: TrainedArm, asked: Asked) -> dict[str, str]:
    """What an arm's reports depend on.

    Args:
        arm: the arm.
        asked: how it is asked.

    Returns:
        Digests of its policy's files, and how it is asked and about which films.
    """
    files = sorted(file for file in arm.folder.rglob("*") if file.is_file())
    settings = asdict(asked) | {"views": list(arm.params.ingest.views)}
    return {
        "policy": " ".join(sha256(file) for file in files),
        "asked": json.dumps(settings, sort_keys=True),
    }
