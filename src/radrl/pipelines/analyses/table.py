"""The analyses on the terminal, DEER's figures beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd
from rich.console import Console

from radrl.pages.caveats import DRAWN_FILMS
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
