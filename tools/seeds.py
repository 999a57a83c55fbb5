"""Run the whole study once a seed and print the arms side by side, pooled over seeds and seed by seed.

    python tools/seeds.py 0 1 2 --out docs/seeds.md

Each seed is a DVC experiment of its own (`dvc exp show` lists them), run in a copy, so the working tree stays
as it is; a seed that was run before is restored from DVC's cache. A seed draws other films, weights and
rollouts, so the spread between seeds holds all of that.
"""

from __future__ import annotations

import argparse
import io
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from radrl.evaluation.paired import holm
from radrl.evaluation.pooling import PooledDifference, pool_differences, standard_error

ROOT = Path(__file__).resolve().parents[1]
NOTICE = "Drawn films: these numbers show that the machinery works. They say nothing about patients."
POOLING = """\
Interval and p come from the t test of the S seeds' differences with S - 1 degrees of freedom, and are never
surer than the seeds' patients allow (`radrl.evaluation.pooling`). Holm's correction runs over the arms within
a metric; rows that need no model are no hypotheses, and beat an arm when their mean is higher."""
COMPARISON = "data/08_reporting/comparison/comparison.csv"


def run(seed: int) -> pd.DataFrame:
    """One seed's comparison."""
    import dvc.api

    name = f"seed-{seed}"
    # an experiment of that name is replaced; what it ran stays in the cache and is not run again
    subprocess.run(
        ["dvc", "exp", "remove", "--quiet", name], cwd=ROOT, check=False, stderr=subprocess.DEVNULL
    )
    command = ["dvc", "exp", "run", "--temp", "--name", name, "--set-param", f"seed={seed}"]
    subprocess.run(command, cwd=ROOT, check=True)
    text = dvc.api.read(COMPARISON, repo=str(ROOT), rev=name, encoding="utf-8")
    return pd.read_csv(io.StringIO(text)).assign(seed=seed)


def pooled(rows: pd.DataFrame, level: float) -> list[dict[str, Any]]:
    """Each arm on each metric over all seeds, in the order of the first seed's table.

    Args:
        rows: the seeds' comparisons below one another, with their `seed`.
        level: coverage of the comparisons' intervals, and of the pooled ones.

    Returns:
        Metric, arm, kind, mean, std, the pooled difference (or nothing), Holm's p over the arms under study
        (or nothing), and the trivial rows with a higher mean.

    Raises:
        ValueError: when a seed lacks a row of another one.
    """
    seeds = rows["seed"].nunique()
    found: list[dict[str, Any]] = []
    for (metric, arm), values in rows.groupby(["metric", "arm"], sort=False):
        if len(values) != seeds:
            raise ValueError(f"{arm} on {metric} is in {len(values)} of {seeds} seeds; run all of them again")
        found.append(
            {
                "metric": metric,
                "arm": arm,
                "kind": values["kind"].iloc[0],
                "mean": values["value"].mean(),
                "std": values["value"].std(ddof=1),
                "difference": _pool(values, level),
                "p_holm": None,
            }
        )
    for metric in dict.fromkeys(one["metric"] for one in found):
        own = [one for one in found if one["metric"] == metric]
        _correct([one for one in own if one["kind"] == "arm" and one["difference"]])
        trivial = {one["arm"]: one["mean"] for one in own if one["kind"] == "trivial"}
        for one in own:
            beaten = [name for name, mean in trivial.items() if mean > one["mean"]]
            one["beaten_by"] = beaten if one["kind"] == "arm" else []
    return found


def pooled_table(rows: pd.DataFrame, metrics: list[str], reference: str, level: float) -> str:
    """The arms over all seeds as a Markdown table."""
    found = pooled(rows, level)
    lines = [
        f"| metric | arm | mean ± sd, n = {rows['seed'].nunique()} | pooled difference from {reference} "
        f"({level:.0%} interval) | p, by Holm | beaten by |",
        "|---|---|---|---|---|---|",
    ]
    for one in (one for metric in metrics for one in found if one["metric"] == metric):
        difference: PooledDifference | None = one["difference"]
        gain, p = "-", "-"
        if difference:
            gain = f"{difference.difference:+.3f} ({difference.low:+.3f} to {difference.high:+.3f})"
        if one["p_holm"] is not None:
            p = f"{difference.p:.3f}, {one['p_holm']:.3f}"
        beaten = ", ".join(one["beaten_by"]) or "-"
        cells = (one["metric"], one["arm"], f"{one['mean']:.3f} ± {one['std']:.3f}", gain, p, beaten)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def seed_table(rows: pd.DataFrame, metrics: list[str], reference: str, level: float) -> str:
    """Each seed's difference from the reference arm as a Markdown table."""
    seeds = sorted(rows["seed"].unique())
    columns = " | ".join(f"seed {seed}" for seed in seeds)
    lines = [f"| metric | arm | {columns} |", f"|---|---|{'---|' * len(seeds)}"]
    differing = rows[rows["difference"].notna()]
    for metric in metrics:
        for arm, values in differing[differing["metric"] == metric].groupby("arm", sort=False):
            gains = [
                f"{row.difference:+.3f} ({row.difference_low:+.3f} to {row.difference_high:+.3f})"
                for row in values.sort_values("seed").itertuples()
            ]
            lines.append(f"| {metric} | {arm} | {' | '.join(gains)} |")
    return "\n".join(lines)


def page(rows: pd.DataFrame, settings: dict[str, Any]) -> str:
    """The whole page.

    Args:
        rows: the seeds' comparisons below one another, with their `seed`.
        settings: the section `compare`.
    """
    level = settings["bootstrap"]["confidence"]
    arguments = (rows, settings["metrics"], settings["reference"], level)
    parts = [NOTICE]
    if rows["seed"].nunique() > 1:
        parts += [
            "## Over all seeds",
            POOLING,
            pooled_table(*arguments),
        ]
    parts += [
        "## Seed by seed",
        f"Difference from {settings['reference']} with its {level:.0%} bootstrap interval over the seed's "
        "patients.",
        seed_table(*arguments),
    ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("seeds", type=int, nargs="+")
    parser.add_argument("--out", type=Path, help="write the tables here as well")
    given = parser.parse_args()
    settings = yaml.safe_load((ROOT / "params.yaml").read_text())["compare"]
    text = page(pd.concat([run(seed) for seed in given.seeds]), settings)
    print(text)
    if given.out:
        partial = given.out.with_suffix(".partial")
        partial.write_text(text, encoding="utf-8")
        partial.rename(given.out)


def _pool(values: pd.DataFrame, level: float) -> PooledDifference | None:
    if values["difference"].isna().all():
        return None
    ends = zip(values["difference_low"], values["difference_high"], strict=True)
    errors = [standard_error(low, high, level=level) for low, high in ends]
    return pool_differences(values["difference"].tolist(), errors, level=level)


def _correct(hypotheses: list[dict[str, Any]]) -> None:
    corrected = holm([one["difference"].p for one in hypotheses])
    for one, p in zip(hypotheses, corrected, strict=True):
        one["p_holm"] = p


if __name__ == "__main__":
    main()
