"""The variance between a study's seeds: its part from test films, and what other hypotheses say of it.

A seed draws films of its own, those that are trained on and those that are judged on, and decides a
training. Its difference between two arms, d_s, is then the expected one plus what its training adds, of
variance tau^2 over trainings, plus what its test films add, of variance w_s^2 over draws of patients. The
first is seen between seeds alone; the second is told within each seed by resampling its patients with both
arms together (`radrl.evaluation.comparison`). The two are independent given the trainings, so their
variances add (`split`).

The other hypotheses of a study give a prior. Smyth (2004, Stat. Appl. Genet. Mol. Biol. 3:1): the true
variances of many hypotheses are draws from s0^2 d0 / chi^2(d0), d0 and s0^2 come from the spread of the log
sample variances, and with them each hypothesis has d0 more degrees of freedom. That holds the error rate over
all hypotheses together. One whose true variance is larger than the others' is found too often where there is
nothing. `moderated` therefore takes less of the prior than Smyth; what each choice costs stands in
docs/bench/pooling.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import chdtri, digamma, polygamma

from radrl.evaluation import FloatArray

FEWEST: Final = 3
"""Hypotheses that a prior needs: of two, the spread of the variances has one degree of freedom."""

MOST: Final = 0.5
"""The prior's degrees of freedom that count, as a share of the hypothesis' own, at most."""

_NOTHING: Final = 1e-12
"""A variance below this share of the largest is an arm equal to its reference, or rounding."""


@dataclass(frozen=True, slots=True)
class Prior:
    """What the hypotheses of a study on one metric say of the variance of each.

    Args:
        freedom: d0, its degrees of freedom; 0 where it says nothing, infinite where the variances differ no
            more than chance.
        variance: s0^2, of a seed's difference.
    """

    freedom: float
    variance: float


def variance_prior(stds: Sequence[float], freedom: float) -> Prior:
    """The prior of one metric's hypotheses by Smyth's moments of log s^2 (2004, section 6.2).

    A hypothesis without any spread (an arm equal to its reference in every seed) is left out. Take together
    only hypotheses with one reference and the same seeds; arms known beforehand to spread otherwise, as those
    without a cold start, have a prior of their own.

    Args:
        stds: of each hypothesis, the sample standard deviation of its seeds' differences.
        freedom: d of each of them, S - 1.

    Returns:
        The prior; with fewer than 3 hypotheses that spread, one that says nothing.

    Raises:
        ValueError: when a standard deviation is negative or not finite, or the freedom not above 0.
    """
    found = np.asarray(stds, np.float64)
    if not (np.isfinite(found).all() and (found >= 0).all()):
        raise ValueError(f"standard deviations {found.tolist()}; give finite numbers of 0 or more")
    if not 0 < freedom < np.inf:
        raise ValueError(f"freedom is {freedom}; give S - 1 of 2 seeds or more")
    if len(found) < FEWEST:
        return Prior(0.0, 0.0)
    freedoms, variances = variance_priors(found[None, :] ** 2, freedom)
    return Prior(float(freedoms[0]), float(variances[0]))


def variance_priors(variances: FloatArray, freedom: float) -> tuple[FloatArray, FloatArray]:
    """The priors of many studies at once.

    With e = log s^2 - psi(d/2) + log(d/2): trigamma(d0/2) = var(e) - trigamma(d/2), infinite d0 where that is
    not above 0, and log s0^2 = mean(e) + psi(d0/2) - log(d0/2).

    Args:
        variances: sample variances s^2, shape (R, H): R studies of H hypotheses.
        freedom: d of each.

    Returns:
        d0 and s0^2, shape (R,); both 0 for a study with fewer than 3 hypotheses that spread.
    """
    used = variances > _NOTHING * variances.max(axis=1, keepdims=True)
    count = used.sum(axis=1)
    known = count >= FEWEST
    e = np.log(np.where(used, variances, 1.0)) - digamma(freedom / 2) + np.log(freedom / 2)
    mean = np.sum(e * used, axis=1) / np.maximum(count, 1)
    scatter = np.sum((e - mean[:, None]) ** 2 * used, axis=1) / np.maximum(count - 1, 1)
    excess = scatter - polygamma(1, freedom / 2)
    differ = excess > 0
    half = trigamma_inverse(np.where(differ, excess, 1.0))
    moved = np.where(differ, digamma(half) - np.log(half), 0.0)
    freedoms = np.where(differ, 2 * half, np.inf)
    return np.where(known, freedoms, 0.0), np.where(known, np.exp(mean + moved), 0.0)


def posterior_variances(
    variances: FloatArray, freedom: float, prior_freedoms: FloatArray, prior_variances: FloatArray
) -> FloatArray:
    """Smyth's moderated variances s~^2 = (d0 s0^2 + d s^2) / (d0 + d); s0^2 where d0 is infinite.

    Args:
        variances: s^2, any shape.
        freedom: d.
        prior_freedoms: d0, of a shape that broadcasts to it.
        prior_variances: s0^2, likewise.

    Returns:
        s~^2, in the shape of `variances`.
    """
    own = 1 / (1 + prior_freedoms / freedom)
    return own * variances + (1 - own) * prior_variances


def moderated(
    variances: FloatArray,
    freedom: float,
    prior_freedoms: FloatArray,
    prior_variances: FloatArray,
    *,
    most: float = MOST,
) -> tuple[FloatArray, FloatArray]:
    """Variance and degrees of freedom of each hypothesis, with a prior that is trusted within bounds.

    The variance is the larger of s^2 and Smyth's s~^2, the freedom d + min(d0, most d) min(1, s0^2 / s^2)^2:
    the prior adds `most` of the own freedom at most, and less where the hypothesis spreads more than the
    others, as Phipson et al. (2016, Ann. Appl. Stat. 10:946) give outliers a smaller d0 of their own. Half
    and square are no theory: simulated beside other bounds and powers, they keep each hypothesis' rate.

    Args:
        variances: s^2, any shape.
        freedom: d.
        prior_freedoms: d0, of a shape that broadcasts to it.
        prior_variances: s0^2, likewise.
        most: the bound on the prior's freedom, as a share of d.

    Returns:
        Variances and degrees of freedom, in the shape of `variances`.
    """
    shared = posterior_variances(variances, freedom, prior_freedoms, prior_variances)
    wider = variances > prior_variances
    ratio = np.where(wider, prior_variances / np.where(wider, variances, 1.0), 1.0)
    counted = np.minimum(prior_freedoms, most * freedom) * ratio**2
    return np.maximum(variances, shared), freedom + counted


def trigamma_inverse(values: FloatArray) -> FloatArray:
    """The x with trigamma(x) = y, by Newton's method on 1 / trigamma, which is convex (Smyth 2004, appendix).

    Args:
        values: y, above 0.

    Returns:
        x, in the same shape.
    """
    x = 0.5 + 1 / values
    for _ in range(50):
        now = polygamma(1, x)
        step = now * (1 - now / values) / polygamma(2, x)
        x = x + step
        if np.all(np.abs(step) <= 1e-10 * x):
            break
    # at the ends, where the polygamma functions lose digits, by the leading terms
    return np.where(values > 1e7, 1 / np.sqrt(values), np.where(values < 1e-6, 1 / values, x))


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
    found, within = checked_seeds(differences, errors)
    seeds = len(found)
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; give a coverage in (0, 1), 0.95 for 95 %")
    total, films = float(found.var(ddof=1)), float(np.mean(within**2))
    tail, out = (1 - level) / 2, 0.0 if shared else films
    low, high = ((seeds - 1) * total / float(chdtri(seeds - 1, above)) for above in (tail, 1 - tail))
    return Spread(seeds, total, films, total - out, max(0.0, low - out), max(0.0, high - out), shared)


def checked_seeds(differences: Sequence[float], errors: Sequence[float]) -> tuple[FloatArray, FloatArray]:
    """A study's differences and their errors as arrays.

    Args:
        differences: of each of S seeds.
        errors: the standard error of each.

    Returns:
        Both, shape (S,).

    Raises:
        ValueError: with fewer than 2 seeds, other numbers of errors, a value that is not finite, or an error
            below 0.
    """
    found, within = np.asarray(differences, np.float64), np.asarray(errors, np.float64)
    seeds = len(found)
    if seeds < 2 or len(within) != seeds:
        raise ValueError(
            f"{seeds} differences and {len(within)} errors; give one of each for 2 seeds or more"
        )
    if not (np.isfinite(found).all() and np.isfinite(within).all() and (within >= 0).all()):
        raise ValueError(f"differences {found.tolist()} with errors {within.tolist()}; give finite numbers")
    return found, within
