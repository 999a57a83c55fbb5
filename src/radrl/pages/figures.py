"""What figures have in common: how lines are told apart, how a panel looks, legends, bytes as PNG."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from radrl.pages.colours import APART, INK

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
