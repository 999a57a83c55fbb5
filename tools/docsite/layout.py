"""Where boxes in layers and the arrows between them go, so that few arrows cross and none runs behind a box.

Layered drawing after Sugiyama, Tagawa and Toda (1981): an arrow over several layers gets a place in each of
them; orders and places follow the mean of the neighbours above and below, from sweep to sweep.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

Edge = tuple[str, str]
Place = str | tuple[Edge, int]
"""A box by its name, or the place of an arrow in a layer it passes."""

SWEEPS = 60
BOXES, LANES = 30.0, 13.0
"""Least distance between two boxes of a layer, and of an arrow that passes from whatever is beside it."""


@dataclass
class Drawing:
    """Centres of boxes and, layer by layer, of the arrows that pass."""

    layers: list[list[Place]]
    widths: Mapping[str, float]
    neighbours: dict[Place, list[Place]] = field(default_factory=dict)
    x: dict[Place, float] = field(default_factory=dict)
    beside: dict[Place, Place] = field(default_factory=dict)
    """Where a box goes that no other layer draws: to the end of an arrow inside its layer."""
    width: float = 0.0

    def lanes(self, edge: Edge) -> list[tuple[float, int]]:
        """Where an arrow passes the layers between its ends: x and the layer's number."""
        return [
            (self.x[edge, number], number) for number in range(len(self.layers)) if (edge, number) in self.x
        ]

    def beside_of(self, place: Place) -> list[Place]:
        """The neighbour in its own layer, if it has one."""
        return [self.beside[place]] if place in self.beside else []

    def half(self, place: Place) -> float:
        """Half the width of a box; a lane has none."""
        return self.widths[place] / 2 if isinstance(place, str) else 0.0

    def step(self, place: Place, after: Place) -> float:
        """Least distance between the centres of two places that stand side by side."""
        both = isinstance(place, str) and isinstance(after, str)
        return self.half(place) + self.half(after) + (BOXES if both else LANES)


def layout(rows: Sequence[Sequence[str]], edges: Sequence[Edge], widths: Mapping[str, float]) -> Drawing:
    """Place boxes and lanes.

    Args:
        rows: names by layer, from the top.
        edges: from and to, in layers of their own or in one.
        widths: of each box.

    Returns:
        The drawing.
    """
    drawing = Drawing([list(row) for row in rows], widths)
    layer = {name: number for number, row in enumerate(rows) for name in row}
    for edge in sorted(edges):
        _add(drawing, edge, layer[edge[0]], layer[edge[1]])
    for places in drawing.layers:
        _spread(drawing, places)
    fixed = {layer[one] for one, other in edges if layer[one] == layer[other]}
    for sweep in range(SWEEPS):
        for number in range(len(rows)) if sweep % 2 else reversed(range(len(rows))):
            _settle(drawing, number, rows[number] if number in fixed else [], ordered=sweep > SWEEPS // 2)
    drawing.width = _from_the_edge(drawing)
    return drawing


def _add(drawing: Drawing, edge: Edge, above: int, below: int) -> None:
    if above == below:
        drawing.beside[edge[0]] = edge[1]
        return
    chain: list[Place] = [edge[0], *((edge, number) for number in range(above + 1, below)), edge[1]]
    for number in range(above + 1, below):
        drawing.layers[number].append((edge, number))
    for one, other in pairwise(chain):
        drawing.neighbours.setdefault(one, []).append(other)
        drawing.neighbours.setdefault(other, []).append(one)


def _spread(drawing: Drawing, places: list[Place]) -> None:
    for number, place in enumerate(places, start=1):
        drawing.x[place] = 1000 * number / (len(places) + 1)


def _settle(drawing: Drawing, number: int, kept: Sequence[str], *, ordered: bool) -> None:
    """Move a layer's places to their neighbours' means, apart from one another.

    Args:
        drawing: changed in place.
        number: of the layer.
        kept: boxes that stay in this order, because arrows lead from one to the other.
        ordered: whether every place keeps its order; else they may overtake.
    """
    places = drawing.layers[number]
    wanted = {place: _mean(drawing, place) for place in places}
    if not ordered:
        places.sort(key=lambda place: wanted[place])
        boxes = iter(kept)
        places[:] = [next(boxes) if place in kept else place for place in places]
    for place, x in zip(places, _apart(drawing, places, wanted), strict=True):
        drawing.x[place] = x


def _mean(drawing: Drawing, place: Place) -> float:
    around = [drawing.x[other] for other in drawing.neighbours.get(place, drawing.beside_of(place))]
    return sum(around) / len(around) if around else drawing.x[place]


def _apart(drawing: Drawing, places: list[Place], wanted: Mapping[Place, float]) -> list[float]:
    """Centres in order, near what is wanted, without overlap: between pushing right and pushing left."""
    steps = [drawing.step(one, other) for one, other in pairwise(places)]
    right = [wanted[places[0]]]
    for place, step in zip(places[1:], steps, strict=True):
        right.append(max(wanted[place], right[-1] + step))
    left = [wanted[places[-1]]]
    for place, step in zip(reversed(places[:-1]), reversed(steps), strict=True):
        left.append(min(wanted[place], left[-1] - step))
    return [(a + b) / 2 for a, b in zip(right, reversed(left), strict=True)]


def _from_the_edge(drawing: Drawing) -> float:
    """Put the whole at the left edge; its width."""
    least = min(x - drawing.half(place) for place, x in drawing.x.items())
    for place in drawing.x:
        drawing.x[place] -= least
    return max(x + drawing.half(place) for place, x in drawing.x.items())
