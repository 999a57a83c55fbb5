"""Which test over seeds keeps its error rate, and what it sees: by simulation.

    python bench/pooling.py                              # about a minute on one core
    python bench/pooling.py --write docs/bench/pooling.md

A study has H arms and a reference arm, S seeds with films of their own, and one hypothesis an arm: its
difference from the reference. A seed's difference is the true one, plus what the seed does to the arm and to
the reference (shared by all hypotheses, so they are correlated), plus what the seed's patients do. Sizes are
those of docs/results/earlier/phantom-60-updates.md on sample-averaged and macro F1 of 14 observations:
standard error over patients 0.011 (there 0.008 to 0.013), spread between seeds beyond it 0 to 0.03 for arms
with a cold start (there the whole sd is 0.002 to 0.025), and 0.05 for two arms without one. Half of the least
spread's variance is the reference's. The patients' errors are known to 5 %, as a bootstrap knows them.

A way is a mean and the half width of its interval; it finds a difference where the mean is larger. Worst is
the hypothesis, or the group of like ones, that is found most often when no difference is true. Power and what
is detectable are those of Holm's first step, 0.05 / H, over all hypotheses.
"""

from __future__ import annotations

import argparse
import math
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog
from scipy.special import stdtrit
from scipy.stats import chi2, norm

from radrl.evaluation.pooling import detectable
from radrl.evaluation.seed_variance import moderated, posterior_variances, variance_priors

FloatArray = npt.NDArray[np.float64]

PATIENTS: Final = 0.011
"""Standard error of a seed's difference over its patients."""
KNOWN: Final = 0.05
"""Relative error of that error."""
NARROW: Final = 0.03 / math.sqrt(10)
WIDE: Final = 0.03
COLD: Final = 0.05
DIFFERENCES: Final = (0.01, 0.02, 0.03)
LEVEL: Final = 0.05
STRINGENT: Final = 0.055
"""Bradley's (1978, Br. J. Math. Stat. Psychol. 31:144) upper bound of a robust test's rate at 5 %."""
USUAL: Final = "0.011"
"""The scene that ways within the bound are ranked by."""


@dataclass(frozen=True, slots=True)
class Scene:
    """How seeds spread.

    Args:
        name: in the tables.
        spread: of so many hypotheses, the sd between seeds beyond the patients', shape (H,).
        heavy: whether seeds follow a t variable with 3 degrees of freedom (of the same variance).
    """

    name: str
    spread: Callable[[int], FloatArray]
    heavy: bool = False


def _wider(number: float, wide: float, narrow: float, hypotheses: int) -> FloatArray:
    """The last `number` hypotheses wide; a share of all of them below 1."""
    last = round(number * hypotheses) if number < 1 else int(number)
    return np.repeat([narrow, wide], [hypotheses - last, last])


SCENES: Final = (
    Scene("patients alone", partial(np.full, fill_value=0.0)),
    Scene("0.004", partial(np.full, fill_value=0.004)),
    Scene("0.011", partial(np.full, fill_value=0.011)),
    Scene("0.03", partial(np.full, fill_value=0.03)),
    Scene("0.011, heavy tails", partial(np.full, fill_value=0.011), heavy=True),
    Scene("half of them 1:10", partial(_wider, 0.5, WIDE, NARROW)),
    Scene("one of them 1:10", partial(_wider, 1, WIDE, NARROW)),
    Scene("two without cold start", partial(_wider, 2, COLD, 0.004)),
)
SHOWN: Final = ("0.004", "0.011", "half of them 1:10", "one of them 1:10")
"""Scenes whose power is shown."""


@dataclass(frozen=True, slots=True)
class Studies:
    """R studies drawn without any true difference.

    Args:
        mean: of the seeds' differences, shape (R, H).
        variance: their sample variance, shape (R, H).
        error: standard error of the mean over patients, shape (R, H).
        weighted: mean and standard error by DerSimonian and Laird, shape (2, R, H).
        spread: Hartung and Knapp's standard error of that mean, shape (R, H).
        seeds: S.
    """

    mean: FloatArray
    variance: FloatArray
    error: FloatArray
    weighted: FloatArray
    spread: FloatArray
    seeds: int


def draw(scene: Scene, hypotheses: int, seeds: int, rounds: int, rng: np.random.Generator) -> Studies:
    """Draw what seeds and patients do, and keep what the ways look at."""
    between = scene.spread(hypotheses)
    shared = 0.5 * between.min() ** 2

    def seeds_do(*shape: int) -> FloatArray:
        if scene.heavy:
            return rng.standard_t(3, shape) / math.sqrt(3)
        return rng.standard_normal(shape)

    found = np.sqrt(between**2 - shared)[:, None] * seeds_do(rounds, hypotheses, seeds)
    found += math.sqrt(shared) * seeds_do(rounds, 1, seeds)
    for shape in ((rounds, hypotheses, seeds), (rounds, 1, seeds)):
        found += PATIENTS / math.sqrt(2) * rng.standard_normal(shape)
    errors = PATIENTS * (1 + KNOWN * rng.standard_normal(found.shape))
    weighted, spread = meta_analysis(found, errors**2)
    return Studies(
        found.mean(axis=2),
        found.var(axis=2, ddof=1),
        np.sqrt(np.sum(errors**2, axis=2)) / seeds,
        weighted,
        spread,
        seeds,
    )


def meta_analysis(found: FloatArray, within: FloatArray) -> tuple[FloatArray, FloatArray]:
    """DerSimonian and Laird's (1986) mean and error, and Hartung and Knapp's (2001) error of it."""
    weights = 1 / within
    total = weights.sum(axis=2)
    fixed = (weights * found).sum(axis=2) / total
    q = (weights * (found - fixed[:, :, None]) ** 2).sum(axis=2)
    scale = total - (weights**2).sum(axis=2) / total
    between = np.maximum(0, (q - found.shape[2] + 1) / scale)
    weights = 1 / (within + between[:, :, None])
    total = weights.sum(axis=2)
    mean = (weights * found).sum(axis=2) / total
    left = (weights * (found - mean[:, :, None]) ** 2).sum(axis=2)
    return np.stack([mean, np.sqrt(1 / total)]), np.sqrt(left / (found.shape[2] - 1) / total)


@dataclass(frozen=True, slots=True)
class Test:
    """A mean, its standard error and degrees of freedom, shape (R, H) each, and a floor under the half width.

    Args:
        mean: what is tested against 0.
        error: its standard error.
        freedom: infinite for the normal.
        floor: standard error of a normal interval that is never undercut; nothing for none.
    """

    mean: FloatArray
    error: FloatArray
    freedom: FloatArray | float
    floor: FloatArray | None = None

    def half(self, level: float) -> FloatArray:
        """Half the width of the interval at 1 - level."""
        half: FloatArray = stdtrit(np.minimum(self.freedom, 1e9), 1 - level / 2) * self.error
        return half if self.floor is None else np.maximum(half, stdtrit(1e9, 1 - level / 2) * self.floor)


def tests(own: Studies) -> dict[str, Test]:
    """All ways, the project's default the last."""
    seeds, freedom = own.seeds, own.seeds - 1
    by_seeds = np.sqrt(own.variance / seeds)
    d0, s0 = (one[:, None] for one in variance_priors(own.variance, freedom))
    smyth = np.sqrt(posterior_variances(own.variance, freedom, d0, s0) / seeds)
    hierarchical = np.sqrt(own.variance * (1 - 1 / seeds) / seeds + own.error**2)
    found = {
        "patients alone": Test(own.mean, own.error, math.inf),
        "hierarchical bootstrap": Test(own.mean, hierarchical, math.inf),
        "DerSimonian-Laird": Test(own.weighted[0], own.weighted[1], math.inf),
        "Hartung-Knapp": Test(own.weighted[0], own.spread, freedom),
        "t": Test(own.mean, by_seeds, freedom),
        "t, floor": Test(own.mean, by_seeds, freedom, own.error),
        "Smyth": Test(own.mean, smyth, freedom + d0),
        "Smyth, floor": Test(own.mean, smyth, freedom + d0, own.error),
        "larger variance, floor": Test(own.mean, np.maximum(smyth, by_seeds), freedom + d0, own.error),
    }
    for name, most in (("bounded by d, floor", 1.0), ("bounded by d/2, floor", 0.5)):
        variance, counted = moderated(own.variance, freedom, d0, s0, most=most)
        found[name] = Test(own.mean, np.sqrt(variance / seeds), counted, own.error)
    return found


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one way in one scene, shares of 1.

    Args:
        overall: false positives at 5 %, over all hypotheses.
        worst: of the hypotheses most often found.
        family: studies with any, by Holm.
        power: at each of `DIFFERENCES`.
        detectable: the difference found in 80 % of studies.
    """

    overall: float
    worst: float
    family: float
    power: tuple[float, ...]
    detectable: float


def figures(test: Test, spread: FloatArray) -> Figures:
    """Of the studies drawn; a true difference moves the mean and nothing else."""
    wrong = np.abs(test.mean) > test.half(LEVEL)
    half = test.half(LEVEL / len(spread))
    return Figures(
        float(wrong.mean()),
        max(float(wrong[:, spread == one].mean()) for one in np.unique(spread)),
        float((np.abs(test.mean) > half).any(axis=1).mean()),
        tuple(float((test.mean + one > half).mean()) for one in DIFFERENCES),
        float(np.quantile(half - test.mean, 0.8)),
    )


Table = dict[str, dict[str, Figures]]
"""By way and scene."""


def simulate(hypotheses: int, seeds: int, rounds: int, rng: np.random.Generator) -> Table:
    """All scenes and ways."""
    table: Table = {}
    for scene in SCENES:
        for name, test in tests(draw(scene, hypotheses, seeds, rounds, rng)).items():
            table.setdefault(name, {})[scene.name] = figures(test, scene.spread(hypotheses))
    return table


def most_power(seeds: int, hypotheses: int, ratio: float) -> tuple[float, float]:
    """Power of the best test of one hypothesis, and of the t test, with the variance known within a ratio.

    The best test that rejects by mean and sample variance, at 0.05 / H for every true variance in
    [1, ratio], is a linear programme over cells of both (Neyman and Pearson's lemma for a composite null).
    It bounds every way that keeps its rate for each hypothesis whatever the others' variances are. The
    variance is the least one, the difference that which t with the known variance finds in 80 %.
    """
    freedom, alpha = seeds - 1, LEVEL / hypotheses
    known = norm.isf(alpha / 2)
    size = known + norm.ppf(0.8)
    variances = np.r_[0, np.geomspace(0.02, 8 * ratio, 90), np.inf]
    means = np.r_[0, np.geomspace(0.3, 12 * math.sqrt(ratio), 140), np.inf]

    def cells(variance: float, shift: float) -> FloatArray:
        scale = math.sqrt(variance)
        inside = norm.cdf((means - shift) / scale) - norm.cdf((-means - shift) / scale)
        return np.outer(np.diff(chi2.cdf(variances * freedom / variance, freedom)), np.diff(inside)).ravel()

    nulls = np.array([cells(one, 0.0) for one in np.geomspace(1, ratio, 30)])
    best = linprog(-cells(1.0, size), A_ub=nulls, b_ub=np.full(30, alpha), bounds=(0, 1), method="highs")
    shares = (np.arange(10_000) + 0.5) / 10_000
    critical = stdtrit(freedom, 1 - alpha / 2) * np.sqrt(chi2.ppf(shares, freedom) / freedom)
    return -float(best.fun), float(norm.sf(critical - size).mean())


def page(tables: dict[tuple[int, int], Table], bounds: Sequence[tuple[float, float, float]]) -> str:
    """All tables as Markdown."""
    lines = _choice(tables)
    for (seeds, hypotheses), table in tables.items():
        lines += ["", f"## {seeds} seeds, {hypotheses} hypotheses", ""]
        lines += ["False positives at 5 %, all hypotheses / the worst, in %, by spread between seeds.", ""]
        names = [scene.name for scene in SCENES]
        lines += _rows(table, names, lambda own: f"{100 * own.overall:.1f} / {100 * own.worst:.1f}")
        lines += ["", "Studies with any false positive by Holm, in %.", ""]
        lines += _rows(table, names, lambda own: f"{100 * own.family:.1f}")
        shown = " / ".join(f"{one:.2f}" for one in DIFFERENCES)
        lines += ["", f"Power at {shown}, in %; difference detectable in 80 %.", ""]
        lines += _rows(table, SHOWN, _power)
    lines += ["", "## The most that any test can do", "", *_bound(bounds)]
    return "\n".join(lines).lstrip("\n") + "\n"


def _choice(tables: dict[tuple[int, int], Table]) -> list[str]:
    """Each way's worst and its use, and the way chosen: the sharpest within the bound with most seeds."""
    cells = list(tables)
    most = max(seeds for seeds, _ in cells)
    lines = [
        "## In short",
        "",
        "By seeds and hypotheses: false positives at 5 % of the worst hypothesis in any scene, and any false "
        f"positive in a study, in %; difference detectable in 80 % at a spread of {USUAL}.",
        "",
        "| way | " + " | ".join(f"{seeds}, {hypotheses}" for seeds, hypotheses in cells) + " |",
        "|---|" + "---|" * len(cells),
    ]
    kept = {}
    for name in tables[cells[0]]:
        own = {cell: tables[cell][name] for cell in cells}
        worst = {cell: max(one.worst for one in own[cell].values()) for cell in cells}
        told = [
            f"{100 * worst[cell]:.1f}, {100 * max(one.family for one in own[cell].values()):.1f}; "
            f"{own[cell][USUAL].detectable:.4f}"
            for cell in cells
        ]
        lines.append(f"| {name} | " + " | ".join(told) + " |")
        if all(worst[cell] <= STRINGENT for cell in cells if cell[0] == most):
            kept[name] = sum(own[cell][USUAL].detectable for cell in cells if cell[0] == most)
    chosen = min(kept, key=kept.__getitem__, default="none")
    within = ", ".join(f'"{name}"' for name in kept)
    return [
        *lines,
        "",
        f"With {most} seeds these stay within {100 * STRINGENT:.1f} % for every hypothesis (Bradley's "
        f'stringent bound, 1978): {within}. Of them the sharpest: **"{chosen}"**.',
    ]


def _rows(table: Table, scenes: Sequence[str], cell: Callable[[Figures], str]) -> list[str]:
    head = ["| way | " + " | ".join(scenes) + " |", "|---|" + "---|" * len(scenes)]
    return head + [
        f"| {name} | " + " | ".join(cell(own[scene]) for scene in scenes) + " |"
        for name, own in table.items()
    ]


def _power(own: Figures) -> str:
    return " / ".join(f"{100 * one:.0f}" for one in own.power) + f"; {own.detectable:.4f}"


def _bound(bounds: Sequence[tuple[float, float, float]]) -> list[str]:
    lines = [
        "Six seeds, Holm's first step of eight. The variance of a hypothesis is known to lie between 1 and a",
        "bound, and is 1; the difference is the one that a known variance would show in 80 %. Power of the",
        "best test that keeps its rate for every variance within, by linear programming, beside the t test:",
        "",
        "| bound | the best test | t |",
        "|---|---|---|",
    ]
    return lines + [f"| {ratio:g} | {best:.0%} | {plain:.0%} |" for ratio, best, plain in bounds]


def head(rounds: int, seconds: float) -> str:
    """Command, size and what the ways are."""
    planned = ", ".join(
        f"{detectable(math.hypot(PATIENTS, 0.011) / math.sqrt(seeds), seeds - 1, alpha=LEVEL / 8):.4f}"
        for seeds in (3, 6)
    )
    return f"""# bench/pooling

Made by `python {shlex.join(["bench/pooling.py", *sys.argv[1:]])}` in {seconds:.0f} CPU seconds: {rounds:,} \
studies a cell, SciPy {version("scipy")}. The standard error of a share of 5 % is \
{100 * math.sqrt(0.05 * 0.95 / rounds):.2f} points where the worst is a single hypothesis, and less elsewhere.

Drawn numbers, of the sizes at [60 updates](../results/earlier/phantom-60-updates.md): a seed's patients \
leave a standard error of {PATIENTS}; seeds spread beyond it by what a column says. "1:10": some \
hypotheses have 10 times the between-seed variance of the others (sd {WIDE} and {NARROW:.4f}). "Two without \
cold start": sd {COLD}, the others 0.004.

- patients alone: the normal test by the patients of all seeds. Hierarchical bootstrap: seeds, then their \
patients, by its variance. DerSimonian-Laird, Hartung-Knapp: random-effects meta-analysis of the S \
differences.
- t: of the S differences. Floor: never surer than the patients of all seeds.
- Smyth: the moderated t (`radrl.evaluation.seed_variance`). Larger variance: that of own and Smyth's.
- bounded: that, and the prior adds at most d or d/2 degrees of freedom to the own d = S - 1, fewer where \
the hypothesis spreads more than the others. **By d/2 is what `pool_differences` does with a prior, \
"t, floor" what it does without.**

`detectable` by formula (noncentral t, spread 0.011, 8 hypotheses) says {planned} for t with 3 and 6 seeds.
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=50_000, help="studies of each cell (default 50,000)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[3, 6], help="S (default 3 and 6)")
    parser.add_argument("--hypotheses", type=int, nargs="+", default=[8, 14], help="H (default 8 and 14)")
    parser.add_argument("--seed", type=int, default=0, help="of the drawing (default 0)")
    parser.add_argument("--write", type=Path, help="write the page here")
    given = parser.parse_args()
    began, rng = time.process_time(), np.random.default_rng(given.seed)
    tables = {
        (seeds, hypotheses): simulate(hypotheses, seeds, given.rounds, rng)
        for seeds in given.seeds
        for hypotheses in given.hypotheses
    }
    bounds = [(ratio, *most_power(6, 8, ratio)) for ratio in (1.0, 1.5, 2.0, 4.0, 8.0)]
    text = page(tables, bounds)
    text = head(given.rounds, time.process_time() - began) + "\n" + text
    print(text)
    if given.write:
        given.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
