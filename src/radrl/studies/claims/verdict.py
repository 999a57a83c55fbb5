"""From the differences of several seeds to a verdict.

A claim "above" is supported where a difference of 0 or less is ruled out, and contradicted where one as large
as the least that matters is; "as good" is supported where being worse by as much as matters is ruled out, and
contradicted where being as good is. Neither: the study cannot decide. Both tests are those of the seeds'
differences against a bound (`radrl.evaluation.pooling`), corrected within the family, at 5 % two-sided.

A verdict that more training could overturn is none: `with_training` makes it "stopped early".
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

import numpy as np

from radrl.evaluation.paired import holm
from radrl.evaluation.pooling import PooledDifference, detectable, detectable_by, pool_differences
from radrl.evaluation.shared_variance import Prior, variance_prior
from radrl.training.watching.levelling import State

ALPHA: Final = 0.05
POWER: Final = 0.8


class Verdict(StrEnum):
    """What a study says of a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    OPEN = "not decidable"
    STOPPED_EARLY = "stopped early"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of one pair of rows on one metric.

    Args:
        differences: of each seed, the arm minus the other row.
        errors: the standard error of each over the seed's patients; 0 where it is not known.
        expects: as in a claim.
        margin: the least difference that matters.
        family: which questions are corrected together.
        kin: which questions share what is known of the spread between seeds: those of one metric that are
            set against the same row.
        expected_spread: standard deviation of a seed's difference that was expected beforehand.
    """

    differences: Sequence[float]
    errors: Sequence[float]
    expects: Literal["more", "as_much"]
    margin: float
    family: str
    kin: str
    expected_spread: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What the seeds say.

    Args:
        pooled: the difference with its 95 % interval, not corrected.
        p: two-sided, of the bound that support has to rule out.
        p_family: the same by Holm within the family.
        p_contradicted: two-sided, of the bound that contradiction has to rule out, by Holm within the family.
        planned: the least difference that this many seeds see with a power of 80 % at the spread expected
            beforehand; nothing where none was.
        detectable: the same at the spread found.
        verdict: of the test, whether or not the trainings had levelled off.
    """

    pooled: PooledDifference
    p: float
    p_family: float
    p_contradicted: float
    planned: float | None
    detectable: float
    verdict: Verdict


def answer(questions: Sequence[Question], *, level: float) -> list[Answer]:
    """Judge every question.

    Args:
        questions: of one study, each of 2 seeds or more.
        level: coverage of the intervals.

    Returns:
        The answers in the same order.
    """
    tests = [_Test(one, _prior(questions, one), level) for one in questions]
    of_support = [test.against(test.lower) for test in tests]
    supported = _by_family(questions, of_support)
    contradicted = _by_family(questions, [test.against(test.upper) for test in tests])
    size = Counter(one.family for one in questions)
    return [
        Answer(
            test.pooled,
            p,
            p_support,
            p_contradiction,
            test.planned(size[one.family]),
            test.detectable(size[one.family]),
            _verdict(p_support, p_contradiction),
        )
        for one, test, p, p_support, p_contradiction in zip(
            questions, tests, of_support, supported, contradicted, strict=True
        )
    ]


def with_training(verdict: Verdict, arm: State | None, over: State | None) -> Verdict:
    """What is left of a test's verdict where a training had not levelled off.

    More training adds to the arm where it is rising or the other row falling, and takes from it where it is
    falling or the other row rising. The first could overturn what speaks against the claim or is open, the
    second what speaks for it. Both at once, two arms that rise, can do either.

    Args:
        verdict: of the test.
        arm: how the claim's arm ended; nothing for a row that does not train.
        over: how the row ended that it is set over.

    Returns:
        `Verdict.STOPPED_EARLY`, or the test's verdict.
    """
    adds = arm is State.RISING or over is State.FALLING
    takes = arm is State.FALLING or over is State.RISING
    overturned = takes if verdict is Verdict.SUPPORTED else adds
    return Verdict.STOPPED_EARLY if overturned else verdict


def planned(spread: float, seeds: int, hypotheses: int) -> float:
    """The least difference that a study sees with a power of 80 %, before it has run.

    By the plain t test of the seeds' differences, since nothing is known yet of what the hypotheses share.

    Args:
        spread: standard deviation of a seed's difference that is expected.
        seeds: how many, 2 or more.
        hypotheses: of the family; each is tested as the first of Holm's steps is.

    Returns:
        The difference.
    """
    return detectable(spread / math.sqrt(seeds), seeds - 1, alpha=ALPHA / hypotheses, power=POWER)


@dataclass(frozen=True, slots=True)
class _Bound:
    """A difference that is to be ruled out, and the side of it that the truth would then be on."""

    at: float
    above: bool


class _Test:
    """One question's test against any bound."""

    def __init__(self, question: Question, prior: Prior, level: float) -> None:
        self._question, self._prior, self._level = question, prior, level
        self.pooled = self._pooled(0.0)
        worse = -question.margin if question.expects == "as_much" else 0.0
        self.lower = _Bound(worse, above=True)
        self.upper = _Bound(worse + question.margin, above=False)

    def against(self, bound: _Bound) -> float:
        """Two-sided p of the bound, 1 where the mean lies on the wrong side of it."""
        found = self._pooled(bound.at)
        return found.p if (found.difference > 0) == bound.above and found.difference else 1.0

    def detectable(self, hypotheses: int) -> float:
        """The least difference seen at the spread found."""
        return detectable_by(self.pooled, alpha=ALPHA / hypotheses, power=POWER)

    def planned(self, hypotheses: int) -> float | None:
        """The least difference seen at the spread expected."""
        expected = self._question.expected_spread
        return None if expected is None else planned(expected, self.pooled.seeds, hypotheses)

    def _pooled(self, bound: float) -> PooledDifference:
        shifted = [difference - bound for difference in self._question.differences]
        return pool_differences(shifted, self._question.errors, level=self._level, prior=self._prior)


def _prior(questions: Sequence[Question], one: Question) -> Prior:
    """What the other questions on its metric say of the spread between seeds."""
    kin = [other.differences for other in questions if other.kin == one.kin]
    return variance_prior([float(np.std(own, ddof=1)) for own in kin], len(one.differences) - 1)


def _by_family(questions: Sequence[Question], p: Sequence[float]) -> list[float]:
    corrected = list(p)
    for family in dict.fromkeys(one.family for one in questions):
        places = [i for i, one in enumerate(questions) if one.family == family]
        for i, value in zip(places, holm([p[i] for i in places]), strict=True):
            corrected[i] = value
    return corrected


def _verdict(support: float, contradiction: float) -> Verdict:
    if support < ALPHA:
        return Verdict.SUPPORTED
    return Verdict.CONTRADICTED if contradiction < ALPHA else Verdict.OPEN
