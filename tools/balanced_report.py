"""How even the balanced subset is, and how even the greedy choice was: the tables of docs/balanced.md

    python tools/balanced_report.py                  print them
    python tools/balanced_report.py --write          write them into docs/balanced.md
    python tools/balanced_report.py --seed 1 --simulated 20000 --size 400

Two pools: drawn phantoms by their gold labels, and label sets simulated at the size of MIMIC-CXR. The latter
come from a Gaussian copula with one factor, how ill the patient is: the shares of labels are of the order of
MIMIC-CXR's, how labels come together is made up. Seconds go to stderr, since they differ from run to run.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
from scipy.special import ndtri

from radrl.algorithms.balance_programs import Pool
from radrl.algorithms.balanced import BalancedSubset, balanced_subset, greedy, level_of
from radrl.algorithms.f_measure import BoolArray, IntArray, Labels, positives
from radrl.data.sources.phantom import read
from radrl.observations import OBSERVATIONS

T = TypeVar("T")
PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "balanced.md"
BEGIN, END = "<!-- tables: written by tools/balanced_report.py -->\n", "<!-- end of tables -->\n"
SHARES: Final = {
    "Enlarged Cardiomediastinum": 0.03,
    "Cardiomegaly": 0.20,
    "Lung Opacity": 0.23,
    "Lung Lesion": 0.03,
    "Edema": 0.12,
    "Consolidation": 0.05,
    "Pneumonia": 0.07,
    "Atelectasis": 0.20,
    "Pneumothorax": 0.045,
    "Pleural Effusion": 0.24,
    "Pleural Other": 0.01,
    "Fracture": 0.02,
    "Support Devices": 0.29,
    "No Finding": 0.33,
}
"""Of positive studies, about as in MIMIC-CXR."""
NO_PATHOLOGY: Final = ("Support Devices", "No Finding")


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to choose: studies a label and what is known of it."""

    counts: IntArray  # (C,)
    studies: int
    level: int
    words: str


def phantoms(studies: int, seed: int) -> tuple[Labels, BoolArray]:
    """Gold labels, shape (N, 14), and completeness, shape (N,), of drawn studies; each once."""
    records = {one.study_id: one for one in read(seed=seed, studies={"train": studies}, image_size=32)}
    labels = np.array([one.gold for one in records.values()])
    return labels, np.array([bool(one.findings and one.impression) for one in records.values()])


def simulated(studies: int, seed: int) -> tuple[Labels, BoolArray]:
    """Simulated labels, 0 or 1, shape (N, 14); all studies are complete."""
    rng = np.random.default_rng(seed)
    found = [name for name in OBSERVATIONS if name != "No Finding"]
    shared = rng.uniform(0.2, 0.7, len(found))  # share of a label's variance that illness explains
    latent = rng.standard_normal((studies, 1)) * np.sqrt(shared)
    latent += rng.standard_normal((studies, len(found))) * np.sqrt(1 - shared)
    present = latent > ndtri(1 - np.array([SHARES[name] for name in found]))
    clear = ~present[:, [name not in NO_PATHOLOGY for name in found]].any(axis=1)
    normal = clear & (rng.random(studies) < SHARES["No Finding"] / clear.mean())
    return np.column_stack([present, normal]).astype(np.int64), np.ones(studies, bool)


def compare(labels: Labels, complete: BoolArray, size: int, seed: int) -> dict[str, Choice]:
    """The pool, what chance gives, the greedy choice, the balanced one, and the highest level there is."""
    known = positives(labels[complete])
    supply, studies = known.sum(axis=0), len(known)
    patterns, available = np.unique(known[known.any(axis=1)], axis=0, return_counts=True)
    pool = Pool(patterns.astype(np.int64), available, size)
    print(f"{studies} complete studies, {len(patterns)} label sets", file=sys.stderr)
    quick = _timed("greedy", partial(greedy, pool))
    by_greedy = pool.counts(quick)
    choices = {
        "complete": Choice(supply, studies, int(supply.max()), "all there are"),
        "at random": Choice(np.rint(supply * size / studies).astype(np.int64), size, 0, "expected counts"),
        "greedy": Choice(by_greedy, size, level_of(pool, quick), "no bound of its own"),
    }
    for name, goal in (("balanced", None), ("highest level", int(supply.max()))):
        found = _timed(name, partial(balanced_subset, labels, complete, size, seed=seed, goal=goal))
        choices[name] = Choice(found.counts, size, found.level, _bounds(found))
    return choices


def table(choices: Mapping[str, Choice]) -> str:
    """The choices side by side, as Markdown."""
    lines = [f"| studies positive for | {' | '.join(choices)} |", f"|---|{'---:|' * len(choices)}"]
    for index, name in enumerate(OBSERVATIONS):
        lines.append(_row(name, [str(one.counts[index]) for one in choices.values()]))
    lines.append(_row("**studies**", [str(one.studies) for one in choices.values()]))
    lines.append(
        _row("labels a study", [f"{one.counts.sum() / one.studies:.2f}" for one in choices.values()])
    )
    lines.append(_row("most : fewest", [_spread(one.counts) for one in choices.values()]))
    lines.append("")
    lines += [f"- {name}: {one.words}" for name, one in choices.items() if "proven" in one.words]
    return "\n".join(lines) + "\n"


def _row(name: str, cells: list[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"


def _spread(counts: IntArray) -> str:
    return f"{counts.max() / counts.min():.2f}" if counts.min() else "-"


def _bounds(found: BalancedSubset) -> str:
    wanted = "as many as can be" if found.goal == found.supply.max() else f"{found.goal} a label"
    return (
        f"asked for {wanted}; level {found.level} (bound {found.level_bound}), peak {found.peak} "
        f"(bound {found.peak_bound}), {found.total} positives (bound {found.total_bound}); "
        f"{'' if found.proven else 'not '}proven best"
    )


def _timed(name: str, work: Callable[[], T]) -> T:
    start = time.perf_counter()
    made = work()
    print(f"{name}: {time.perf_counter() - start:.1f} s", file=sys.stderr)
    return made


def report(drawn: int, large: int, size: int, seed: int) -> str:
    """Both tables under their headings, as Markdown."""
    shown = table(compare(*phantoms(drawn, seed), drawn // 6, seed))
    parts = [f"### {drawn // 6} of {drawn} drawn phantoms, seed {seed}", "", shown]
    shown = table(compare(*simulated(large, seed), size, seed))
    return "\n".join([*parts, f"### {size} of {large} simulated studies, seed {seed}", "", shown])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="into docs/balanced.md")
    parser.add_argument("--drawn", type=int, default=900, help="phantoms; a sixth of them is chosen")
    parser.add_argument("--simulated", type=int, default=150_000)
    parser.add_argument("--size", type=int, default=1000, help="chosen of the simulated studies")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    made = report(given.drawn, given.simulated, given.size, given.seed)
    if not given.write:
        print(made, end="")
        return
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    fresh = PAGE.with_suffix(".tmp")
    fresh.write_text(before + BEGIN + made + END + after, encoding="utf-8")
    fresh.replace(PAGE)


if __name__ == "__main__":
    main()
