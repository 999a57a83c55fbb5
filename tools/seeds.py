"""Run the whole study once a seed and print the arms side by side.

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

import dvc.api
import numpy as np
import pandas as pd
import yaml

ROOT = Path(__file__).resolve().parents[1]
NOTICE = "Drawn films: these numbers show that the machinery works. They say nothing about patients."
COMPARISON = "data/08_reporting/comparison/comparison.csv"


def run(seed: int) -> pd.DataFrame:
    """One seed's comparison."""
    name = f"seed-{seed}"
    # an experiment of that name is replaced; what it ran stays in the cache and is not run again
    subprocess.run(
        ["dvc", "exp", "remove", "--quiet", name], cwd=ROOT, check=False, stderr=subprocess.DEVNULL
    )
    command = ["dvc", "exp", "run", "--temp", "--name", name, "--set-param", f"seed={seed}"]
    subprocess.run(command, cwd=ROOT, check=True)
    text = dvc.api.read(COMPARISON, repo=str(ROOT), rev=name, encoding="utf-8")
    return pd.read_csv(io.StringIO(text)).assign(seed=seed)


def table(rows: pd.DataFrame, metrics: list[str], reference: str) -> str:
    """The arms' means over seeds with their spread and each seed's difference, as a Markdown table."""
    seeds = sorted(rows["seed"].unique())
    gain = f"difference from {reference} by seed (95 % interval)"
    lines = [f"| metric | arm | mean ± sd, n = {len(seeds)} | {gain} |", "|---|---|---|---|"]
    for metric in metrics:
        for arm, found in rows[rows["metric"] == metric].groupby("arm", sort=False):
            values = found.sort_values("seed")
            spread = f"{values['value'].mean():.3f}"
            if len(seeds) > 1:
                spread += f" ± {np.std(values['value'], ddof=1):.3f}"
            gains = [
                f"{row.difference:+.3f} ({row.difference_low:+.3f} to {row.difference_high:+.3f})"
                for row in values.itertuples()
                if not np.isnan(row.difference)
            ]
            lines.append(f"| {metric} | {arm} | {spread} | {'; '.join(gains) or '-'} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("seeds", type=int, nargs="+")
    parser.add_argument("--out", type=Path, help="write the table here as well")
    given = parser.parse_args()
    settings = yaml.safe_load((ROOT / "params.yaml").read_text())["compare"]
    rows = pd.concat([run(seed) for seed in given.seeds])
    page = f"{NOTICE}\n\n{table(rows, settings['metrics'], settings['reference'])}\n"
    print(page)
    if given.out:
        partial = given.out.with_suffix(".partial")
        partial.write_text(page, encoding="utf-8")
        partial.rename(given.out)


if __name__ == "__main__":
    main()
