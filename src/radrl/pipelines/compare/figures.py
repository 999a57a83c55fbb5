"""The figures of the page: rows with their intervals, precision against recall, what the selections took."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from radrl.pages.colours import APART, INK, PALE
from radrl.pages.figures import dress, style
from radrl.pipelines.compare.rows import CEILING, row_titles
from radrl.pipelines.compare.training import DIVERSITY_PARTS, Subset

ARM, REFERENCE = APART[:2]
KINDS = {"arm": ARM, "system": "#1a7f37", "trivial": PALE, "reader": "#8957e5"}


def draw_forest(comparison: pd.DataFrame, *, reference: str) -> Figure:
    """Values with their intervals: a panel a metric, a line a row; the ceiling is left out of the scale.

    Args:
        comparison: a line a row and metric.
        reference: the arm that the others are compared with; its value is the dashed line.

    Returns:
        The figure.
    """
    lines = comparison[comparison["arm"] != CEILING]
    rows, metrics = list(dict.fromkeys(lines["arm"])), list(dict.fromkeys(lines["metric"]))
    titles = [*row_titles(lines.drop_duplicates("arm"))]
    columns = min(3, len(metrics))
    height = 0.24 * len(rows) + 0.75
    figure, panels = _grid(len(metrics), columns, width=3.3, height=height, left=1.6)
    for number, (panel, metric) in enumerate(zip(panels, metrics, strict=True)):
        _forest_panel(panel, lines[lines["metric"] == metric], rows, reference)
        panel.set_title(metric, fontsize=9, color=INK, loc="left")
        panel.set_yticks(range(len(rows)), titles if number % columns == 0 else [""] * len(rows))
        panel.tick_params(axis="y", length=0)
        panel.set_ylim(len(rows) - 0.5, -0.5)
    return figure


def svg(figure: Figure, *, name: str) -> str:
    """The figure as an SVG element for a page, transparent, its text kept as text.

    The figure is laid out for this, once: a picture saved of it afterwards has the page's layout.

    Args:
        figure: to render.
        name: makes its inner ids differ from another figure's.

    Returns:
        The element, the same for the same figure.
    """
    _lay_out(figure)
    buffer = io.StringIO()
    plain: dict[str, Any] = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", transparent=True, metadata=plain)
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def _lay_out(figure: Figure) -> None:
    """Lay the figure out as an SVG's text needs it, once: a layout is a third of the time of a picture."""
    engine = figure.get_layout_engine()
    if engine is None:
        return
    canvas, dpi = figure.canvas, figure.dpi
    FigureCanvasSVG(figure)  # takes the canvas' place, and measures text
    figure.set_dpi(FigureCanvasSVG.fixed_dpi)
    engine.execute(figure)
    figure.set_layout_engine("none")
    figure.set_dpi(dpi)
    figure.set_canvas(canvas)


def _forest_panel(panel: Axes, lines: pd.DataFrame, rows: Sequence[str], reference: str) -> None:
    for line in lines.to_dict("records"):
        at = rows.index(line["arm"])
        colour = REFERENCE if line["arm"] == reference else KINDS[line["kind"]]
        panel.plot([line["low"], line["high"]], [at, at], color=colour, linewidth=2, solid_capstyle="round")
        face = "none" if line["kind"] == "trivial" else colour
        panel.plot(
            [line["value"]], [at], marker="o", markersize=5, markerfacecolor=face, markeredgecolor=colour
        )
        if line["arm"] == reference:
            panel.axvline(line["value"], color=colour, linewidth=1, linestyle=(0, (3, 3)), alpha=0.7)


def _grid(count: int, columns: int, *, width: float, height: float, left: float) -> tuple[Figure, list[Axes]]:
    """`count` panels on a grid, each of width x height inches."""
    lines = math.ceil(count / columns)
    figure = Figure(
        figsize=(left + width * columns, height * lines), layout=ConstrainedLayoutEngine(h_pad=0.1)
    )
    panels = [figure.add_subplot(lines, columns, i + 1) for i in range(count)]
    for panel in panels:
        dress(panel)
    return figure, panels


MARKER_CHARACTERS: Final = {
    "o": "●", "s": "■", "^": "▲", "D": "◆", "v": "▼", "P": "✚", "X": "✖", "<": "◀", ">": "▶",
}  # fmt: skip
"""matplotlib's markers as characters, for a legend that is a table."""

HOLLOW_CHARACTERS: Final = {"o": "○", "s": "□", "^": "△", "D": "◇", "v": "▽", "p": "⬠"}

_MARKERS: Final = {"trivial": ("s", "o", "^", "v"), "reader": ("D", "p")}
_F1: Final = (0.2, 0.4, 0.6, 0.8)
_ROOM: Final = 0.25
"""Of the arms' extent, on each side of a view of theirs."""


@dataclass(frozen=True, slots=True)
class Look:
    """How a row is drawn.

    Args:
        colour: of its marker.
        marker: as matplotlib has it.
        sign: the same as a character.
        hollow: whether the marker is not filled: what is no arm.
    """

    colour: str
    marker: str
    sign: str
    hollow: bool


def row_looks(agreement: pd.DataFrame, trained: Sequence[str]) -> dict[str, Look]:
    """The look of each row; an arm that trained has that of its training curve.

    Args:
        agreement: of `radrl.pipelines.compare.scores.tabulate_agreement`.
        trained: the arms that trained, in the order of their curves.
    """
    found: dict[str, Look] = {}
    arms = agreement.loc[agreement["kind"] == "arm", "arm"]
    for number, arm in enumerate([*trained, *(arm for arm in arms if arm not in trained)]):
        own = style(number)
        found[arm] = Look(own.colour, own.marker, MARKER_CHARACTERS[own.marker], hollow=False)
    for kind, markers in _MARKERS.items():
        rows = agreement.loc[agreement["kind"] == kind, "arm"]
        for number, row in enumerate(rows):
            marker = markers[number % len(markers)]
            found[row] = Look(
                KINDS[kind] if kind == "reader" else PALE, marker, HOLLOW_CHARACTERS[marker], hollow=True
            )
    return found


def draw_agreement(agreement: pd.DataFrame, look: Mapping[str, Look], *, least: str | None = None) -> Figure:
    """Precision against recall, over lines of equal F1.

    Args:
        agreement: of `radrl.pipelines.compare.scores.tabulate_agreement`.
        look: of `row_looks`; a row without one is left out.
        least: an arm, to look only at where it and the arms with its F1 or more are; nothing for the whole
            unit square.

    Returns:
        The figure, square.
    """
    figure = Figure(figsize=(4.7, 4.7), layout=ConstrainedLayoutEngine())
    panel = figure.add_subplot()
    dress(panel)
    panel.grid(visible=False)
    panel.spines["left"].set_visible(True)
    across, up = _view(agreement, least) if least else ((0.0, 1.02), (0.0, 1.02))
    panel.set(xlim=across, ylim=up)
    _equal_f1(panel, _between(across, up) if least else _F1)
    for row in agreement.to_dict("records"):
        if row["arm"] not in look:
            continue
        own = look[row["arm"]]
        panel.plot(
            row["recall"], row["precision"], own.marker, markersize=8 if least else 6.5, color=own.colour,
            markerfacecolor="none" if own.hollow else own.colour, linestyle="none", gid=f"row-{row['arm']}",
        )  # fmt: skip
    panel.set_xlabel("recall", fontsize=9, color=INK)
    panel.set_ylabel("precision", fontsize=9, color=INK)
    panel.set_title(f"arms not below {least}" if least else "all rows", fontsize=9.5, color=INK, loc="left")
    return figure


def draw_selection_shares(subsets: Sequence[Subset]) -> Figure:
    """Which share of the films each subset has, by how diverse their rollouts are.

    Args:
        subsets: those whose films are known and not all there are.

    Returns:
        The figure: a line a subset.
    """
    figure = Figure(figsize=(6.2, 3.1), layout=ConstrainedLayoutEngine())
    panel = figure.add_subplot()
    dress(panel)
    panel.grid(visible=False)
    panel.grid(axis="y", color=INK, alpha=0.2, linewidth=0.6)
    for number, subset in enumerate(subsets):
        own = style(number)
        panel.plot(
            range(1, len(subset.taken) + 1), subset.taken, color=own.colour, linestyle=own.dash,
            marker=own.marker, markersize=5, linewidth=1.6, label=subset.name,
        )  # fmt: skip
    panel.set(ylim=(-0.03, 1.05), xticks=range(1, DIVERSITY_PARTS + 1))
    panel.set_xlabel("training films by diversity, in tenths; 10 the most diverse", fontsize=9, color=INK)
    panel.set_ylabel("share taken", fontsize=9, color=INK)
    figure.legend(loc="outside upper left", ncols=3, frameon=False, fontsize=8.5, labelcolor=INK)
    return figure


def _view(agreement: pd.DataFrame, least: str) -> tuple[tuple[float, float], tuple[float, float]]:
    arms = agreement[agreement["kind"] == "arm"]
    shown = arms[arms["f1"] >= float(arms.loc[arms["arm"] == least, "f1"].iloc[0])]
    return _span(shown["recall"]), _span(shown["precision"])


def _span(values: pd.Series) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    room = max(_ROOM * (high - low), 0.02)
    return max(0.0, low - room), min(1.02, high + room)


def _between(across: tuple[float, float], up: tuple[float, float]) -> list[float]:
    """Round values of F1 that a view has, a handful."""
    low, high = (_f1(across[end], up[end]) for end in (0, 1))
    steps = [step for step in (0.01, 0.02, 0.05, 0.1, 0.2) if (high - low) / step <= 7]
    step = steps[0] if steps else 0.2
    return [round(step * number, 2) for number in range(int(low / step) + 1, int(high / step) + 1)]


def _f1(recall: float, precision: float) -> float:
    total = recall + precision
    return 2 * recall * precision / total if total else 0.0


def _equal_f1(panel: Axes, values: Sequence[float]) -> None:
    """Curves of equal F1, each with its value where it leaves the panel at the right or the top."""
    (left, right), (low, high) = panel.get_xlim(), panel.get_ylim()
    for value in values:
        recall = np.linspace(max(value / 2 + 1e-3, left, 1e-3), min(right, 1.0), 200)
        precision = value * recall / (2 * recall - value)
        seen = (precision <= min(high, 1.0)) & (precision >= low)
        if not seen.any():
            continue
        panel.plot(recall[seen], precision[seen], color=PALE, linewidth=0.7, linestyle=(0, (2, 2)), zorder=0)
        below = precision[seen][-1] - low < 0.05 * (high - low)
        panel.annotate(
            f"F1 {value:g}", (recall[seen][-1], precision[seen][-1]), fontsize=7.5, color=INK,
            ha="left" if below else "right", va="bottom", xytext=(2 if below else 0, 2),
            textcoords="offset points", zorder=0,
        )  # fmt: skip
