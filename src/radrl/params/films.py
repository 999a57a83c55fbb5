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
    taken = _taken(params, selection)
    if taken is None:
        return None
    share, studies = taken
    of_a_study = 2 if params.ingest.sample == "image" and _lateral_share(params) else 1
    return of_a_study * math.ceil(share * studies)


def expected(params: Params, selection: str) -> int | None:
    """About how many films a selection has: none in quarantine, lateral films as often as their share says.

    Args:
        params: as `most` takes them.
        selection: a built-in one.

    Returns:
        Their number; nothing where the films are not drawn, or the selection is one of one's own.
    """
    taken = _taken(params, selection)
    if taken is None or selection in params.selection.own.parts():
        return None
    share, studies = taken
    of_a_study = 1.0 + (_lateral_share(params) if params.ingest.sample == "image" else 0.0)
    return max(1, round(share * of_a_study * studies))


def _taken(params: Params, selection: str) -> tuple[float, int] | None:
    """The share that a selection takes and the studies that it is of; nothing where these are not drawn."""
    phantom = params.ingest.parts().get("phantom")
    if phantom is None or params.ingest.source != "phantom":
        return None
    selections = params.selection.parts()
    if selection == "balanced":
        return 1.0, int(selections[selection].studies)
    return getattr(selections.get(selection), "share", 1.0), int(phantom.studies.get("train", 0))


def _lateral_share(params: Params) -> float:
    share: float = params.ingest.parts()["phantom"].lateral_share
    return share
