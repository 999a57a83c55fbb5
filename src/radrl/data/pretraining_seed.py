"""Films that a policy was pretrained on are no films of a study: their seed is noted, and refused there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

from radrl.storage import json_files

PHANTOM: Final = "phantom"
DRAWN_FROM: Final = "drawn_from.json"
"""Beside the weights of a policy that was pretrained here."""


class SeenFilms(ValueError):
    """A study would draw films from the seed of its base policy's pretraining."""


def note_on(write: Callable[[Path], None], *, source: str, seed: int) -> Callable[[Path], None]:
    """Have a policy's writer note what the films of its pretraining were.

    Args:
        write: writes the policy into a folder.
        source: of the films.
        seed: what drawn films were drawn from.

    Returns:
        A writer that leaves the note too.
    """

    def noting(folder: Path) -> None:
        write(folder)
        (folder / DRAWN_FROM).write_text(json.dumps({"source": source, "seed": seed}) + "\n")

    return noting


def refuse_seen(weights: Path, *, source: str, seed: int) -> None:
    """Refuse a study whose films would come from the seed that a policy was pretrained with.

    Args:
        weights: the policy's folder; one without a note on drawn films saw none.
        source: the study's.
        seed: the study's.

    Raises:
        SeenFilms: when both are those of the note.
    """
    note = weights / DRAWN_FROM
    if source != PHANTOM:  # the seed of another source draws splits, not films
        return
    if note.is_file() and json_files.read(note, mend="take the policy's folder anew") == {
        "source": source,
        "seed": seed,
    }:
        raise SeenFilms(
            f"seed {seed} is the one that the films of policy.path ({weights}) were drawn from, and a study "
            "on films that its base policy has seen proves nothing: take another seed"
        )
