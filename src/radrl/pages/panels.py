"""How a panel of a figure looks."""

from __future__ import annotations

from matplotlib.axes import Axes

from radrl.pages.colours import INK


def dress(panel: Axes) -> None:
    """Give a panel the look of all: a base line and upright hair lines, nothing else."""
    panel.tick_params(labelsize=8, colors=INK)
    panel.grid(axis="x", color=INK, alpha=0.2, linewidth=0.6)
    panel.set_facecolor("none")
    for side, spine in panel.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(INK)
