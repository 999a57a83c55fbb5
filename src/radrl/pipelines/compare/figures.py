"""The comparison, drawn, and its figures as parts of a page."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from radrl.pages.colours import APART, INK, PALE
from radrl.pages.panels import dress
from radrl.pipelines.compare.rows import CEILING
from radrl.pipelines.compare.systems import titled

ARM, REFERENCE = APART[:2]
KINDS = {"arm": ARM, "system": "#1a7f37", "trivial": PALE, "reader": "#8957e5"}


def forest(comparison: pd.DataFrame, *, reference: str) -> Figure:
    """Values with their intervals: a panel a metric, a line a row; the ceiling is left out of the scale.

    Args:
        comparison: a line a row and metric.
        reference: the arm that the others are compared with; its value is the dashed line.

    Returns:
        The figure.
    """
    lines = comparison[comparison["arm"] != CEILING]
    rows, metrics = list(dict.fromkeys(lines["arm"])), list(dict.fromkeys(lines["metric"]))
    titles = [*titled(lines.drop_duplicates("arm"))]
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
