"""Figures of eval over a study's seeds that its page cannot have: counts, of which less is better.

    python tools/study_figures.py without prior green_rules_false_comparison green_rules_missing_comparison \
        --clones data/.studies/study-prior

A line an arm and figure: mean and standard deviation over the seeds of one run and of another, and the mean
of the seeds' differences with its 95 % interval and p by the paired t test, not corrected for how many are
looked at. The runs' films are the same seed by seed. Seeds that ran elsewhere lie in further folders of
`--clones`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from radrl.evaluation.pooling import pool_differences

Scores = dict[str, dict[int, Mapping[str, float]]]
"""By arm and seed what eval measured."""


def read(clones: Sequence[Path], run: str) -> Scores:
    """What a run's seeds have."""
    found: Scores = {}
    for folder in clones:
        for file in sorted(folder.glob(f"{run}-seed-*/data/08_reporting/eval/*/scores.json")):
            seed = int(file.relative_to(folder).parts[0].rpartition("-")[2])
            found.setdefault(file.parent.name, {})[seed] = json.loads(file.read_text())
    return found


def line(arm: str, figure: str, one: Sequence[float], other: Sequence[float]) -> str:
    """A row of the table."""
    found = pool_differences(np.subtract(other, one).tolist(), [0.0] * len(one))
    cells = [f"{np.mean(own):.3f} ± {np.std(own, ddof=1):.3f}" for own in (one, other)]
    difference = f"{found.difference:+.3f} ({found.low:+.3f} to {found.high:+.3f}), p {found.p:.1g}"
    return f"| {arm} | `{figure}` | {cells[0]} | {cells[1]} | {difference} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("one", help="a run of the study")
    parser.add_argument("other", help="the run that is held against it")
    parser.add_argument("figures", nargs="+", help="keys of eval's scores.json")
    parser.add_argument("--clones", nargs="+", type=Path, required=True, help="folders of the study's clones")
    given = parser.parse_args()
    one, other = (read(given.clones, run) for run in (given.one, given.other))
    if not (arms := [arm for arm in one if arm in other]):
        folders = ", ".join(map(str, given.clones))
        parser.error(f"no arm was scored in both runs below {folders}; run the study first")
    seeds = {arm: sorted(one[arm].keys() & other[arm].keys()) for arm in arms}
    print(f"| arm | figure | {given.one} | {given.other} | difference over seeds {seeds[arms[0]]} |")
    print("|---|---|---|---|---|")
    for arm in arms:
        for figure in given.figures:
            print(
                line(arm, figure, *([own[arm][seed][figure] for seed in seeds[arm]] for own in (one, other)))
            )


if __name__ == "__main__":
    main()
