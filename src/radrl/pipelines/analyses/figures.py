"""Tables 6 and 7 of DEER, drawn: ours with intervals, the paper's figures as hollow diamonds."""

from __future__ import annotations

from typing import Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from radrl.pages.caveats import DRAWN_FILMS
from radrl.pages.colours import INK, PALE
from radrl.pages.figures import dress, style
from radrl.pipelines.analyses import masking, rewards, table

TITLES: Final = {
    "label_modification_ratio": "label modification ratio ↑",
    "post_masking_f1": "F1 after masking ↓",
    "zero_variance_ratio": "groups of equal rewards ↓",
    "unique_rewards": "different rewards a group ↑",
    "mean_reward_std": "mean std of the reward ↑",
}
"""What the panels are called; the arrow is the direction that DEER hopes for."""


def draw(masked: pd.DataFrame, diversity: pd.DataFrame, results: pd.DataFrame, *, drawn: bool) -> Figure:
    """Both tables: a panel a metric, a line a strategy or pool of films.

    Args:
        masked: of `radrl.pipelines.analyses.nodes.mask_tokens`.
        diversity: of `radrl.pipelines.analyses.nodes.measure_rewards`.
        results: the papers' results.
        drawn: whether films are drawn, which the figure then says.

    Returns:
        The figure.
    """
    figure = Figure(figsize=(9.6, 5.2), layout="constrained")
    above, below = figure.subfigures(2, 1)
    labelers = list(dict.fromkeys(masked["labeler"]))
    for number, metric in enumerate(masking.METRICS):
        panel = above.add_subplot(1, 2, number + 1)
        rows = masked[masked["metric"] == metric].rename(columns={"strategy": "row", "labeler": "who"})
        paper = {row: table.deer(results, 6, table.MASKING[row], metric) for row in rows["row"]}
        _panel(panel, rows, paper, labelers, named=number == 0)
    for number, metric in enumerate(rewards.METRICS):
        panel = below.add_subplot(1, 3, number + 1)
        rows = diversity[diversity["metric"] == metric].rename(columns={"pool": "row", "labeler": "who"})
        paper = {row: table.deer(results, 7, table.POOLS.get(row), metric) for row in rows["row"]}
        _panel(panel, rows, paper, [diversity["labeler"].iloc[0]], named=number == 0)
    above.suptitle("Heaviest tokens masked (DEER, table 6)", fontsize=10, x=0.01, ha="left")
    below.suptitle("Rewards of a film's rollouts (DEER, table 7)", fontsize=10, x=0.01, ha="left")
    _legend(figure, labelers, drawn)
    return figure


def _panel(
    panel: Axes, lines: pd.DataFrame, paper: dict[str, float | None], whose: list[str], *, named: bool
) -> None:
    rows = list(dict.fromkeys(lines["row"]))
    for line in lines.to_dict("records"):
        number = whose.index(line["who"])
        at = rows.index(line["row"]) + 0.22 * (number - (len(whose) - 1) / 2)
        look = style(number)
        panel.plot(
            [line["low"], line["high"]], [at, at], color=look.colour, linewidth=2, solid_capstyle="round"
        )
        panel.plot([line["value"]], [at], marker=look.marker, markersize=5, color=look.colour)
    for row, value in paper.items():
        if value is not None:
            panel.plot([value], [rows.index(row)], marker="D", markersize=6, color="none", mec=PALE)
    panel.set_title(TITLES[lines["metric"].iloc[0]], fontsize=9, color=INK, loc="left")
    panel.set_yticks(range(len(rows)), rows if named else [""] * len(rows))
    panel.set_ylim(len(rows) - 0.5, -0.5)
    panel.tick_params(axis="y", length=0)
    dress(panel)


def _legend(figure: Figure, labelers: list[str], drawn: bool) -> None:
    handles = [
        Line2D([], [], color=look.colour, marker=look.marker, markersize=5, label=f"read by {name}")
        for look, name in ((style(number), name) for number, name in enumerate(labelers))
    ]
    deer = "DEER on MIMIC-CXR, read by CheXbert"
    handles.append(Line2D([], [], linestyle="", marker="D", markersize=6, color="none", mec=PALE, label=deer))
    figure.legend(
        handles=handles,
        loc="outside lower left",
        ncols=len(handles),
        frameon=False,
        fontsize=8,
        labelcolor=INK,
        title=DRAWN_FILMS if drawn else None,
        title_fontsize=8,
        alignment="left",
    )
