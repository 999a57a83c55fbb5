"""Whether a metric ranks reports as a clinician would, by docs/metric_scenarios.csv; run by `metric_checks`

A scenario is one reference and two or three hypotheses; the lower its rank, the better a hypothesis. Right
is a metric that is strictly higher for every hypothesis of a lower rank; of hypotheses of one rank nothing
is asked. A metric without a score for one of them is not right. Every third scenario of a kind is put
aside: what a metric is tuned with is the others.
"""

from __future__ import annotations

from itertools import combinations, permutations
from pathlib import Path
from typing import Final

import pandas as pd

from radrl.scoring.weighted_findings.tables import Context

ROOT: Final = Path(__file__).resolve().parents[1]
SCENARIOS: Final = ROOT / "docs" / "metric_scenarios.csv"
SCORES, SHARES = "metric_scenarios_scores.csv", "metric_scenarios_shares.csv"
BEGIN, END = "<!-- scenarios: written by tools/metric_checks.py -->\n", "<!-- end of scenarios -->\n"

KINDS: Final = (
    "false_findings",
    "patient_context",
    "normal_findings",
    "paraphrase",
    "location",
    "measurement",
    "diagnostic_precision",
    "clinical_weight",
    "partial_credit",
    "practicality",
)
ALL: Final = "all"
PARTS: Final = {"development": "no", "put aside": "yes"}
"""What is tuned with and what is not, by the column `put_aside`."""
KEYS: Final = ("scenario", "kind", "put_aside", "rank")
"""What stands before the metrics in `SCORES`, beside the number of the hypothesis in its scenario."""
HYPOTHESIS: Final = "hypothesis"
UNITS: Final = ("scenarios", "pairs")
RANDOM: Final = "a random order"


def read_scenarios() -> pd.DataFrame:
    """A row a hypothesis, in the file's order."""
    return pd.read_csv(SCENARIOS)


def contexts(scenarios: pd.DataFrame) -> list[Context | None]:
    """The patient of each row, as far as the scenario states one; nothing where it states nobody.

    Args:
        scenarios: as read.
    """
    return [
        Context(None if pd.isna(age) else float(age), "" if pd.isna(asked) else str(asked).lower())
        if pd.notna(age) or pd.notna(asked)
        else None
        for age, asked in zip(scenarios["age"], scenarios["indication"], strict=True)
    ]


def numbered(scenarios: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Keys, the number of the hypothesis in its scenario, and the metrics.

    Args:
        scenarios: as read.
        scores: the metrics, a row a hypothesis in the same order.
    """
    keys = scenarios[list(KEYS)].reset_index(drop=True)
    keys.insert(1, HYPOTHESIS, keys.groupby("scenario").cumcount() + 1)
    return pd.concat([keys, scores.reset_index(drop=True)], axis=1)


def metrics(scored: pd.DataFrame) -> list[str]:
    return [name for name in scored.columns if name not in (*KEYS, HYPOTHESIS)]


def pairs_right(ranks: list[int], values: list[float]) -> list[bool]:
    """By pair of hypotheses of different rank, whether the better one is strictly higher."""
    right = []
    for (rank, value), (other_rank, other) in combinations(zip(ranks, values, strict=True), 2):
        if rank != other_rank:
            right.append(value > other if rank < other_rank else other > value)
    return right


def shares(scored: pd.DataFrame) -> pd.DataFrame:
    """How many scenarios and pairs each metric ranks right, by kind and part; the kind `ALL` is their sum."""
    rows = []
    for metric in metrics(scored):
        for (kind, aside, _), of in scored.groupby(["kind", "put_aside", "scenario"], sort=False):
            right = pairs_right(of["rank"].tolist(), of[metric].tolist())
            rows.append((metric, kind, aside, 1, int(all(right)), len(right), sum(right)))
    columns = ["metric", "kind", "put_aside", "scenarios", "scenarios_right", "pairs", "pairs_right"]
    found = pd.DataFrame(rows, columns=columns)
    found = pd.concat([found, found.assign(kind=ALL)])
    return found.groupby(columns[:3], sort=False, as_index=False).sum()


def random_shares(scored: pd.DataFrame) -> pd.DataFrame:
    """What a metric that orders at random, without ties, is right in on average, in the form of `shares`."""
    columns = []
    for _, of in scored.groupby("scenario", sort=False):
        ranks = of["rank"].tolist()
        orders = [pairs_right(ranks, list(order)) for order in permutations(map(float, range(len(ranks))))]
        expected = sum(map(all, orders)) / len(orders)
        columns.append((of["kind"].iloc[0], of["put_aside"].iloc[0], expected, len(orders[0])))
    found = pd.DataFrame(columns, columns=["kind", "put_aside", "scenarios_right", "pairs"])
    found = found.assign(metric=RANDOM, scenarios=1, pairs_right=found["pairs"] / 2)
    found = pd.concat([found, found.assign(kind=ALL)])
    return found.groupby(["metric", "kind", "put_aside"], sort=False, as_index=False).sum()


def table(counted: pd.DataFrame, unit: str) -> str:
    """A line a metric, a column a kind, as Markdown; a cell has a share for each of `PARTS`.

    Args:
        counted: as `shares` gives it.
        unit: ``"scenarios"`` or ``"pairs"``.
    """
    share = counted.assign(share=counted[f"{unit}_right"] / counted[unit])
    by = share.set_index(["metric", "kind", "put_aside"])["share"]
    heads = [f"{unit} ranked right", *KINDS, ALL]
    lines = [f"| {' | '.join(head.replace('_', ' ') for head in heads)} |", "|---" * len(heads) + "|"]
    for metric in counted["metric"].unique():
        cells = [
            " / ".join(f"{by[metric, kind, aside]:.2f}" for aside in PARTS.values()) for kind in (*KINDS, ALL)
        ]
        name = metric if metric == RANDOM else f"`{metric}`"
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def in_words(counted: pd.DataFrame) -> str:
    """Who ranks most scenarios right, by part."""
    whole = counted[counted["kind"] == ALL]
    said = []
    for part, aside in PARTS.items():
        of = whole[whole["put_aside"] == aside]
        best = of[of["scenarios_right"] == of["scenarios_right"].max()]
        names = " and ".join(f"`{name}`" for name in best["metric"])
        said.append(
            f"- Most scenarios right, {part}: {names}, {best['scenarios_right'].iloc[0]} of "
            f"{best['scenarios'].iloc[0]}.\n"
        )
    return "".join(said)


def shown(scored: pd.DataFrame) -> str:
    """What stands between the markers."""
    counted = shares(scored)
    both = pd.concat([counted, random_shares(scored)], ignore_index=True)
    return "\n".join([*(table(both, unit) for unit in UNITS), in_words(counted)])
