"""Tables 6 and 7 of DEER beside ours: on the terminal, and drawn, the paper's figures as hollow diamonds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from rich.console import Console

from radrl.pages.figures import INK, PALE, dress, style
from radrl.pages.page import DRAWN_FILMS
from radrl.pipelines.analyses import masking, rewards
from radrl.process.terminal import new_table, number

MASKING: Final[Mapping[str, str]] = {"random": "random", "tf_idf": "tfidf (rule)", "gradient": "gradient"}
"""Our strategies by the names of DEER's table 6."""
POOLS: Final[Mapping[str, str]] = {"full": "random (100%)", "ddsampling": "DDSampling (20%)"}
"""Our pools of films by the names of DEER's table 7, which has no random fifth."""


def deer(results: pd.DataFrame, table: int, method: str | None, metric: str) -> float | None:
    """A figure of DEER's.

    Args:
        results: the papers' results, a line a method and metric.
        table: its number.
        method: of the paper; nothing for a row that the paper does not have.
        metric: of the paper.

    Returns:
        The figure; nothing where the paper prints none.
    """
    rows = results[(results["paper"] == "DEER") & (results["table"].astype(str) == str(table))]
    found = rows.loc[(rows["method"] == method) & (rows["metric"] == metric), "value"]
    return float(found.iloc[0]) if len(found) else None


def show_masking(
    lines: pd.DataFrame,
    results: pd.DataFrame,
    *,
    share: float,
    level: float,
    absent: Mapping[str, str],
    unweighted: Mapping[str, float],
    drawn: bool,
) -> None:
    """Print table 6: a table a metric, a row a strategy, a column a labeler.

    Args:
        lines: of `radrl.pipelines.analyses.nodes.mask_tokens`.
        results: the papers' results.
        share: of the tokens masked.
        level: coverage of the intervals.
        absent: why strategies are left out.
        unweighted: by strategy, the share of reports in which chance alone chose.
        drawn: whether films are drawn.
    """
    console = Console()
    console.print(
        f"\nThe heaviest {share:.0%} of tokens masked in {lines['rollouts'].iloc[0]} rollouts on "
        f"{lines['films'].iloc[0]} films (DEER, table 6)",
        style="bold",
    )
    for metric in masking.METRICS:
        table = new_table(metric, *dict.fromkeys(lines["labeler"]), "DEER")
        for strategy, own in lines[lines["metric"] == metric].groupby("strategy", sort=False):
            paper = deer(results, 6, MASKING[str(strategy)], metric)
            cells = [_cell(line, 1 - level) for line in own.to_dict("records")]
            table.add_row(str(strategy), *cells, number(paper))
        console.print(table)
    for name, reason in absent.items():
        console.print(f"{name} is left out: {reason}", style="dim")
    for name, part in unweighted.items():
        if part:
            console.print(
                f"in {part:.1%} of the rollouts {name} weighs all tokens alike: chance chose", style="dim"
            )
    _foot(console, masking.RANDOM, level, drawn)


def show_rewards(lines: pd.DataFrame, results: pd.DataFrame, *, level: float, drawn: bool) -> None:
    """Print table 7: a row a metric, a column a pool of films.

    Args:
        lines: of `radrl.pipelines.analyses.nodes.measure_rewards`.
        results: the papers' results.
        level: coverage of the intervals.
        drawn: whether films are drawn.
    """
    console = Console()
    first = lines.iloc[0]
    console.print(
        f"\nReward ce_f1 by {first['labeler']} in groups of {first['group']} rollouts (DEER, table 7)",
        style="bold",
    )
    heads = (head for metric in rewards.METRICS for head in (metric.replace("_", " "), "DEER"))
    table = new_table("pool", "films", *heads)
    for pool, own in lines.groupby("pool", sort=False):
        cells: list[str] = []
        for line in own.to_dict("records"):
            paper = deer(results, 7, POOLS.get(str(pool)), line["metric"])
            cells += [_cell(line, 1 - level), number(paper)]
        table.add_row(str(pool), str(own["films"].iloc[0]), *cells)
    console.print(table)
    console.print(
        "The last two chose films by the labels of these very rollouts; fresh ones would differ less.\n"
        "most_diverse takes the first by rank, without DDSampling's draw.",
        style="dim",
    )
    _foot(console, rewards.REFERENCE, level, drawn)


def _cell(line: Mapping[Any, Any], alpha: float) -> str:
    mark = " "
    if pd.notna(line["p_holm"]) and line["p_holm"] < alpha:
        mark = "▲" if line["difference"] > 0 else "▼"
    ends = f"{line['low']:.2f}–{line['high']:.2f} " if pd.notna(line["low"]) else ""
    return f"{number(line['value'])}{mark}\n{ends}"


def _foot(console: Console, reference: str, level: float, drawn: bool) -> None:
    console.print(
        f"▲ ▼ differs from {reference} (Holm's p under {1 - level:.2g}); below each value its "
        f"{level:.0%} interval over patients. DEER's: MIMIC-CXR, CheXbert.",
        style="dim",
    )
    if drawn:
        console.print(DRAWN_FILMS)


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
    for place, metric in enumerate(masking.METRICS):
        panel = above.add_subplot(1, 2, place + 1)
        rows = masked[masked["metric"] == metric].rename(columns={"strategy": "row", "labeler": "who"})
        paper = {row: deer(results, 6, MASKING[row], metric) for row in rows["row"]}
        _panel(panel, rows, paper, labelers, named=place == 0)
    for place, metric in enumerate(rewards.METRICS):
        panel = below.add_subplot(1, 3, place + 1)
        rows = diversity[diversity["metric"] == metric].rename(columns={"pool": "row", "labeler": "who"})
        paper = {row: deer(results, 7, POOLS.get(row), metric) for row in rows["row"]}
        _panel(panel, rows, paper, [diversity["labeler"].iloc[0]], named=place == 0)
    above.suptitle("Heaviest tokens masked (DEER, table 6)", fontsize=10, x=0.01, ha="left")
    below.suptitle("Rewards of a film's rollouts (DEER, table 7)", fontsize=10, x=0.01, ha="left")
    _legend(figure, labelers, drawn)
    return figure


def _panel(
    panel: Axes, lines: pd.DataFrame, paper: dict[str, float | None], whose: list[str], *, named: bool
) -> None:
    rows = list(dict.fromkeys(lines["row"]))
    for line in lines.to_dict("records"):
        place = whose.index(line["who"])
        at = rows.index(line["row"]) + 0.22 * (place - (len(whose) - 1) / 2)
        look = style(place)
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
        for look, name in ((style(place), name) for place, name in enumerate(labelers))
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
