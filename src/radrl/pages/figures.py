"""What figures have in common: colours, how lines are told apart, how a panel looks, legends, bytes as PNG.

Text and axes have a grey that can be read on white paper and, in a page's inline SVG, on a dark screen.
Lines have Okabe and Ito's colours (Color Universal Design, 2008) but for the yellow, too pale on white:
simulated for deuteranopia, any two of them stay further apart than `APART_BY`, which a test measures.
Beyond seven lines, and for who sees no colour at all, dash and marker differ too (`style`).
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK: Final = "#6e7781"
PALE: Final = "#8b949e"
"""Of what stands beside a study's own results: papers' figures, and rows that need no model."""
BLACK: Final = "#000000"
"""In a page the colour of its text, so that a line of it is seen on a dark screen."""
APART: Final = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", BLACK)
APART_BY: Final = 15.0
"""Least distance in CIELAB (1976) between two colours as a deuteranope sees them; 2.3 is just noticed."""


DASHES: Final[tuple[Any, ...]] = ("-", (0, (4, 1.5)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)))
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
DPI: Final = 110


@dataclass(frozen=True, slots=True)
class Style:
    """How a line looks.

    Args:
        colour: of line and markers.
        dash: as matplotlib's `linestyle`.
        marker: as matplotlib's `marker`.
    """

    colour: str
    dash: Any
    marker: str


def style(number: int) -> Style:
    """The look of a picture's n-th line: neighbours differ in colour, dash and marker alike.

    Args:
        number: from 0; 252 lines differ, the first seven in colour.
    """
    return Style(APART[number % len(APART)], DASHES[number % len(DASHES)], MARKERS[number % len(MARKERS)])


def legend(figure: Figure, handles: list[Any], *, columns: int) -> None:
    """Explain the lines above the panels.

    Args:
        figure: laid out with constraints, which make room.
        handles: artists with labels.
        columns: of the legend, at most.
    """
    figure.legend(
        handles=handles,
        loc="outside upper left",
        ncols=min(columns, len(handles)),
        frameon=False,
        fontsize=8.5,
        labelcolor=INK,
        handlelength=2.6,
        columnspacing=1.4,
    )


def png(figure: Figure) -> bytes:
    """The figure as a PNG file.

    Args:
        figure: to render.

    Returns:
        The bytes, the same for the same figure: neither time nor program is written into them.
    """
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=DPI, metadata={"Software": None})
    return stream.getvalue()


def dress(panel: Axes) -> None:
    """Give a panel the look of all: a base line and upright hair lines, nothing else."""
    panel.tick_params(labelsize=8, colors=INK)
    panel.grid(axis="x", color=INK, alpha=0.2, linewidth=0.6)
    panel.set_facecolor("none")
    for side, spine in panel.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(INK)
