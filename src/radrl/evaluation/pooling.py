"""One verdict from several seeds of a whole study, each with studies, weights and rollouts of its own.

Seeds share no study, so nothing can be resampled across them. What is pooled is each seed's paired difference
between two arms: S independent numbers whose spread holds everything that a seed decides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import nctdtr, ndtr, stdtr, stdtrit

from radrl.evaluation.seed_variance import Prior, checked_seeds, moderated


@dataclass(frozen=True, slots=True)
class PooledDifference:
    """Arm minus reference arm on one metric, over seeds.

    Args:
        difference: mean of the seeds' differences.
        low: lower end of its interval.
        high: upper end.
        p: two-sided.
        std: sample standard deviation of the seeds' differences.
        error: standard error of `difference` by the patients of each seed alone.
        seeds: S.
        error_by_seeds: standard error of `difference` by the spread between seeds, the prior's share in it.
        freedom: degrees of freedom of `error_by_seeds`; S - 1 without a prior.
    """

    difference: float
    low: float
    high: float
    p: float
    std: float
    error: float
    seeds: int
    error_by_seeds: float
    freedom: float


def pool_differences(
    differences: Sequence[float],
    errors: Sequence[float],
    *,
    level: float = 0.95,
    prior: Prior | None = None,
) -> PooledDifference:
    """Pool the seeds' paired differences.

    Estimate: the unweighted mean. Interval and p: the t test of the S differences with S - 1 degrees of
    freedom. Their variance is that between seeds plus each seed's own over patients, whatever their shares,
    and at levels of 5 % or less the test of independent normal values stays conservative where the seeds'
    variances differ (Bakirov and Szekely; as a method: Ibragimov and Mueller 2010, JBES 28:453). It is
    Hartung and Knapp's random-effects interval with equal weights and shares its fault: a few seeds that
    agree by chance leave an interval narrower than the patients allow. Roever et al. (2015, arXiv:1508.01227)
    put a floor under its variance; here, milder, the wider of it and of the interval over patients alone
    is taken, and the larger p.

    By simulation at 95 % the interval of 3 or 5 seeds covers 98 to 99 % where seeds differ by their patients
    alone, 96 to 97 % with as much variance between seeds, 95 to 96 % with ten times as much. Three seeds are
    few: a difference is told from 0 when it exceeds 2.5 times the standard deviation of the seeds'.

    With a prior, variance and freedom are those of `moderated`. Simulated studies of six seeds and 8 or 14
    hypotheses with one reference (docs/bench/pooling.md: patients' standard error 0.011, spread between seeds
    0 to 0.05, equal, 1:10 in variance, heavy tails) then see 0.034 and 0.038 with 80 % at Holm's first step
    where the plain test sees 0.036 and 0.041, three seeds 0.11 and 0.13 for 0.14 and 0.19. The hypothesis
    worst off is found at 5 % in 5.2 to 5.3 % when there is nothing, as against 5.0 %; by Holm 0.9 to 3.5 % of
    studies find anything. The gain is in what most studies find; a difference that fewer than a quarter find
    is found a little less often. Sharper ways pay with the hypothesis whose variance is largest: Smyth's own
    test finds it in 19 to 26 %, random effects with a normal interval (DerSimonian and Laird) in 11 to 19 %,
    a hierarchical bootstrap in 12 to 21 %, the patients of all seeds alone in 67 %. No test can do much
    better: where a hypothesis' variance may be 4 times the least, the best one that keeps its rate has 38 %
    power where the t test has 35 %. Fewer hypotheses in a family do more.

    Args:
        differences: of each seed, arm minus reference arm.
        errors: the standard error of each over the seed's own patients (`standard_error`); 0 where all seeds
            have the same films, and what is asked is of training on these.
        level: coverage of the interval.
        prior: what the study's hypotheses on this metric say of the variance (`variance_prior`); nothing for
            the t test of this hypothesis alone.

    Returns:
        The pooled difference.

    Raises:
        ValueError: with fewer than 2 seeds, other numbers of errors, a value that is not finite, an error
            below 0, or a level outside (0, 1).
    """
    found, within = checked_seeds(differences, errors)
    seeds = len(found)
    mean, std = float(found.mean()), float(found.std(ddof=1))
    error = math.sqrt(float(np.sum(within**2))) / seeds
    variance, freedom = _moderated(std**2, seeds - 1, prior)
    error_by_seeds = math.sqrt(variance / seeds)
    by_seeds, p_by_seeds = _student(mean, error_by_seeds, freedom, level)
    by_patients, p_by_patients = _student(mean, error, math.inf, level)
    half, p = max(by_seeds, by_patients), max(p_by_seeds, p_by_patients)
    return PooledDifference(mean, mean - half, mean + half, p, std, error, seeds, error_by_seeds, freedom)


def detectable(error: float, freedom: float, *, alpha: float, power: float = 0.8) -> float:
    """The smallest true difference that a two-sided t test finds with the power asked for.

    Args:
        error: standard error of the pooled difference.
        freedom: its degrees of freedom; infinite for the normal test.
        alpha: level of the test. 0.05 by the number of hypotheses in the family is Holm's first step: what is
            seen there is seen whatever the others show.
        power: the share of repetitions in which it is found, with its sign.

    Returns:
        The difference, by the noncentral t distribution; 0 without any error.

    Raises:
        ValueError: when the error is negative or not finite, the freedom not above 0, or not
            0 < alpha < power < 1.
    """
    if not (0 <= error < math.inf and freedom > 0 and 0 < alpha < power < 1):
        raise ValueError(
            f"error {error}, freedom {freedom}, alpha {alpha}, power {power}; give an error of 0 or more, "
            "a freedom above 0, and 0 < alpha < power < 1"
        )
    critical = float(stdtrit(freedom, 1 - alpha / 2))
    end = 1.0
    while _power(end, critical, freedom) < power:
        end *= 2
    return error * float(brentq(lambda ratio: _power(ratio, critical, freedom) - power, 0.0, end))


def detectable_by(found: PooledDifference, *, alpha: float, power: float = 0.8) -> float:
    """What a study of this spread sees: the larger of `detectable` by its seeds and by its patients.

    Args:
        found: a pooled difference; of it the errors are read, not the difference.
        alpha: as there.
        power: as there.

    Returns:
        The difference.

    Raises:
        ValueError: as there.
    """
    by_seeds = detectable(found.error_by_seeds, found.freedom, alpha=alpha, power=power)
    return max(by_seeds, detectable(found.error, math.inf, alpha=alpha, power=power))


def standard_error(low: float, high: float, *, level: float = 0.95) -> float:
    """The standard error that an interval's width implies, taken as a normal one.

    Args:
        low: lower end.
        high: upper end.
        level: its coverage.

    Returns:
        The standard error.

    Raises:
        ValueError: when the level lies outside (0, 1).
    """
    return (high - low) / (2 * _quantile(math.inf, level))


def _moderated(variance: float, freedom: float, prior: Prior | None) -> tuple[float, float]:
    if prior is None:
        return variance, freedom
    given = (np.asarray(one, np.float64) for one in (prior.freedom, prior.variance))
    shared, more = moderated(np.asarray(variance), freedom, *given)
    return float(shared), float(more)


def _power(ratio: float, critical: float, freedom: float) -> float:
    """Of a true difference of `ratio` standard errors to come out above `critical`."""
    return float(ndtr(ratio - critical) if math.isinf(freedom) else 1 - nctdtr(freedom, ratio, critical))


def _student(mean: float, error: float, freedom: float, level: float) -> tuple[float, float]:
    """Half the width of the interval, and the two-sided p of a mean of 0; infinite freedom is the normal."""
    p = 2 * float(stdtr(freedom, -abs(mean) / error)) if error else float(mean == 0)
    return _quantile(freedom, level) * error, p


def _quantile(freedom: float, level: float) -> float:
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; give a coverage in (0, 1), 0.95 for 95 %")
    return float(stdtrit(freedom, (1 + level) / 2))
