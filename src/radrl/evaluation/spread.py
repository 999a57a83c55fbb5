"""Where the spread between seeds of a paired difference comes from: the test films, or training.

A seed draws films of its own, those that are trained on and those that are judged on, and decides a
training. Its difference between two arms, d_s, is then the expected one plus what its training adds, of
variance tau^2 over trainings, plus what its test films add, of variance w_s^2 over draws of patients. The
first is seen between seeds alone; the second is told within each seed by resampling its patients with both
arms together (`radrl.evaluation.comparison`). The two are independent given the trainings, so their
variances add.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri


@dataclass(frozen=True, slots=True)
class Spread:
    """The variance of a seed's difference between two arms, and its parts.

    Args:
        seeds: S.
        total: s^2, the sample variance of the seeds' differences.
        films: of a seed's difference over draws of as many test patients, the mean over the seeds.
        training: what is left of `total`; below 0 where seeds differ by less than their films explain.
        low: lower end of the interval of `training`, at least 0.
        high: its upper end, at least 0.
        shared: whether all seeds were judged on the same films, which are then no part of `total`.
    """

    seeds: int
    total: float
    films: float
    training: float
    low: float
    high: float
    shared: bool

    def with_films(self, times: float) -> float:
        """The standard deviation of a seed's difference with `times` as many test films.

        Their part goes with one over their number; that of training stays, and stands in the way. Of shared
        films, whose part is not in the spread, it stays as it is.
        """
        kept = max(0.0, self.training)
        return math.sqrt(kept if self.shared else kept + self.films / times)


def split(
    differences: Sequence[float], errors: Sequence[float], *, shared: bool = False, level: float = 0.95
) -> Spread:
    """Take the variance between seeds apart by the method of moments.

    With s^2 = sum (d_s - mean)^2 / (S - 1), E[s^2] = tau^2 + mean of w_s^2, so

        films    = (1/S) sum of w_s^2
        training = s^2 - films

    The interval of `training` is that of the whole variance, (S - 1) s^2 / chi^2(S - 1), less `films`, which
    is taken as known: its own error is small beside that of a variance of a few seeds. It is cut at 0, the
    estimate is not, so that a mean over many pairs stays unbiased. With six seeds the interval reaches from
    0.39 to 6.0 times s^2: a study of a few seeds tells the parts apart only roughly.

    What is in `training`: the weights that a training begins with, its order of films, its rollouts, and the
    films that it is trained on, which a seed draws as well. Reports written at temperature 0 add nothing of
    their own; drawn ones would be in it. Where the seeds share all films (`ingest.seed`), `training` is s^2:
    what a film adds in all seeds alike is gone, what it adds in one alone is at most `films` and stays in
    it. The difference between `training` of own films and of shared ones is then what the films trained on
    decide.

    Args:
        differences: of each of S seeds, arm minus other row.
        errors: w_s, the standard error of each over the seed's own test patients.
        shared: whether all seeds have the same films.
        level: coverage of the interval.

    Returns:
        The variance and its parts.

    Raises:
        ValueError: with fewer than 2 seeds, other numbers of errors, a value that is not finite, an error
            below 0, or a level outside (0, 1).
    """
    found, within = np.asarray(differences, np.float64), np.asarray(errors, np.float64)
    seeds = len(found)
    if seeds < 2 or len(within) != seeds:
        raise ValueError(
            f"{seeds} differences and {len(within)} errors; give one of each for 2 seeds or more"
        )
    if not (np.isfinite(found).all() and np.isfinite(within).all() and (within >= 0).all()):
        raise ValueError(f"differences {found.tolist()} with errors {within.tolist()}; give finite numbers")
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; give a coverage in (0, 1), 0.95 for 95 %")
    total, films = float(found.var(ddof=1)), float(np.mean(within**2))
    tail, out = (1 - level) / 2, 0.0 if shared else films
    low, high = ((seeds - 1) * total / float(chdtri(seeds - 1, above)) for above in (tail, 1 - tail))
    return Spread(seeds, total, films, total - out, max(0.0, low - out), max(0.0, high - out), shared)
