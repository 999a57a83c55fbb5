"""How many films an arm trains on, as far as parameters say: they count drawn studies and balanced ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from radrl.params.schema import Params


def most(params: Params, selection: str) -> int | None:
    """The most films that a selection can have.

    Args:
        params: whose films are drawn; of others nobody knows before they are read.
        selection: what an arm's `selection` names; one of one's own has at most all films.

    Returns:
        Their number; nothing where the films are not drawn.
    """
    studies = _studies(params)
    if studies is None:
        return None
    phantom = params.ingest.parts()["phantom"]
    of_a_study = 2 if params.ingest.sample == "image" and phantom.lateral_share else 1
    chosen = params.selection.parts().get(selection)
    if selection == "balanced":
        return of_a_study * int(params.selection.parts()[selection].studies)
    return of_a_study * math.ceil(getattr(chosen, "share", 1.0) * studies)


def expected(params: Params, selection: str) -> int | None:
    """About how many films a selection has: none in quarantine, lateral films as often as their share says.

    Args:
        params: as `most` takes them.
        selection: a built-in one.

    Returns:
        Their number; nothing where the films are not drawn, or the selection is one of one's own.
    """
    studies = _studies(params)
    if studies is None or selection in params.selection.own.parts():
        return None
    of_a_study = 1.0
    if params.ingest.sample == "image":
        of_a_study += params.ingest.parts()["phantom"].lateral_share
    chosen = params.selection.parts().get(selection)
    if selection == "balanced":
        return round(of_a_study * int(params.selection.parts()[selection].studies))
    share: float = getattr(chosen, "share", 1.0)
    return max(1, round(share * of_a_study * studies))


def _studies(params: Params) -> int | None:
    """Training studies that are drawn."""
    phantom = params.ingest.parts().get("phantom")
    if phantom is None or params.ingest.source != "phantom":
        return None
    return int(phantom.studies.get("train", 0))
