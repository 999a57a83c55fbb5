"""The house: packages in the layers of the import contract, arrows for imports, as SVG; and its rooms."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from xml.sax.saxutils import escape

import grimp

from docsite.layout import Drawing, Edge, layout
from docsite.made import ROOT, table
from docsite.packages import SOURCE, lives, module_of, summary

BOX, HEIGHT, GAP = 34, 78, 14
CHARACTER = 8.4
"""Width of a letter of the boxes' names."""
MARKER = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>'
)


def svg() -> str:
    """The house as an SVG that takes its colours from the page, so that it reads in light and in dark."""
    rows = layers()
    edges = needed(imports())
    widths = {name: len(name) * CHARACTER + 26 for row in rows for name in row}
    drawing = layout(rows, list(edges), widths)
    height = _top(len(rows) - 1) + BOX + GAP
    boxes = (_box(name, drawing, number) for number, row in enumerate(rows) for name in row)
    drawn = "".join([*_arrows(edges, drawing), *boxes])
    width = round(drawing.width) + 2 * GAP
    return (
        f'<div class="house"><svg viewBox="{-GAP} 0 {width} {height}" style="max-width: {width}px" '
        'role="img" aria-label="Packages of radrl in layers; arrows lead to what a package imports">'
        f"{MARKER}{drawn}</svg></div>"
    )


def rooms() -> str:
    """A row a package: what it is, and what may live there, as its docstring says."""
    names = [name for row in layers() for name in row if (SOURCE / name).is_dir()]
    return table(
        ["room", "what it is", "what may live there"],
        [[f"`{name}`", summary(module_of(name)), lives(module_of(name))] for name in names],
    )


@cache
def layers() -> list[list[str]]:
    """The rows of the contract in pyproject.toml, from the top."""
    toml = import_module("tomllib" if find_spec("tomllib") else "tomli")
    contracts = toml.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    rows = next(own["layers"] for own in contracts["contracts"] if own["type"] == "layers")
    return [[name.strip(" ()") for name in row.replace("|", ":").split(":")] for row in rows]


@cache
def imports() -> dict[Edge, int]:
    """How many imports lead from one package to another."""
    graph = grimp.build_graph("radrl")
    counts: dict[Edge, int] = {}
    for importer in graph.modules:
        for imported in graph.find_modules_directly_imported_by(importer):
            edge = (_room(importer), _room(imported))
            if "" not in edge and edge[0] != edge[1]:
                counts[edge] = counts.get(edge, 0) + 1
    return counts


def needed(counts: dict[Edge, int]) -> dict[Edge, int]:
    """Without the imports that a longer way implies: who imports rewards may import what rewards import."""
    return {edge: count for edge, count in counts.items() if edge[1] not in _by_longer_way(edge, counts)}


def _room(module: str) -> str:
    return module.partition(".")[2].partition(".")[0]


def _by_longer_way(edge: Edge, counts: dict[Edge, int]) -> set[str]:
    open_ends = [end for begin, end in counts if begin == edge[0] and end != edge[1]]
    seen: set[str] = set()
    while open_ends:
        here = open_ends.pop()
        if here not in seen:
            seen.add(here)
            open_ends += [end for begin, end in counts if begin == here]
    return seen


def _box(name: str, drawing: Drawing, number: int) -> str:
    width = drawing.widths[name]
    left, top = drawing.x[name] - width / 2, _top(number)
    said = escape(summary(module_of(name)))
    return (
        f"<g><title>{escape(name)}: {said}</title>"
        f'<rect x="{left:.0f}" y="{top}" width="{width:.0f}" height="{BOX}" rx="5"/>'
        f'<text x="{drawing.x[name]:.0f}" y="{top + BOX // 2 + 5}">{escape(name)}</text></g>'
    )


def _top(number: int) -> int:
    return GAP + number * HEIGHT


def _arrows(edges: dict[Edge, int], drawing: Drawing) -> Iterator[str]:
    layer = {place: number for number, row in enumerate(drawing.layers) for place in row}
    for (begin, end), count in sorted(edges.items()):
        said = f"{begin} imports {end}: {count}"
        if layer[begin] == layer[end]:
            path = _beside(begin, end, drawing, layer[begin])
        else:
            path = _down(begin, end, edges, drawing, layer)
        yield f'<path class="arrow" marker-end="url(#tip)" d="{path}"><title>{escape(said)}</title></path>'


def _beside(begin: str, end: str, drawing: Drawing, number: int) -> str:
    """An arrow within a layer, from side to side."""
    toward = 1 if drawing.x[begin] < drawing.x[end] else -1
    from_x = drawing.x[begin] + toward * drawing.widths[begin] / 2
    to_x = drawing.x[end] - toward * drawing.widths[end] / 2
    return f"M{from_x:.0f} {_top(number) + BOX // 2}H{to_x:.0f}"


def _down(begin: str, end: str, edges: dict[Edge, int], drawing: Drawing, layer: dict[Any, int]) -> str:
    """An arrow to a layer below, through its lanes in those between."""
    down = [(one, other) for one, other in edges if layer[one] < layer[other]]
    away = sorted((_next(one, other, drawing), other) for one, other in down if one == begin)
    into = sorted((_next(other, one, drawing, back=True), one) for one, other in down if other == end)
    x, y = _port(begin, end, away, drawing), _top(layer[begin]) + BOX
    path = f"M{x:.0f} {y}"
    for lane, number in drawing.lanes((begin, end)):
        path += _curve(x, y, lane, _top(number)) + f"V{_top(number) + BOX}"
        x, y = lane, _top(number) + BOX
    return path + _curve(x, y, _port(end, begin, into, drawing), _top(layer[end]))


def _next(here: str, other: str, drawing: Drawing, *, back: bool = False) -> float:
    """Where the arrow between two boxes is in the layer next to one of them."""
    lanes = drawing.lanes((other, here) if back else (here, other))
    return lanes[-1 if back else 0][0] if lanes else drawing.x[other]


def _port(name: str, other: str, all_of_it: list[tuple[float, str]], drawing: Drawing) -> float:
    number = [end for _, end in all_of_it].index(other)
    return drawing.x[name] + drawing.widths[name] * ((number + 1) / (len(all_of_it) + 1) - 0.5)


def _curve(from_x: float, from_y: int, to_x: float, to_y: int) -> str:
    middle = (from_y + to_y) // 2
    return f"C{from_x:.0f} {middle} {to_x:.0f} {middle} {to_x:.0f} {to_y}"
