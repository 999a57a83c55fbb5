"""A study's claims held against what its seeds gave: from the differences of several seeds to verdicts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

import numpy as np
import pandas as pd

from radrl.evaluation.paired import holm
from radrl.evaluation.pooling import PooledDifference, detectable, detectable_by, pool_differences
from radrl.evaluation.seed_variance import Prior, variance_prior
from radrl.studies.claims.schema import BEST, WITHOUT_MODEL, Hypothesis, Place
from radrl.studies.levelling import Levelled, state_of
from radrl.studies.tables import share_films
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


@dataclass(frozen=True, slots=True)
class Tested:
    """A hypothesis and what became of it.

    Args:
        hypothesis: the claim on one metric.
        seeds: that it was tested on.
        differences: of each of them, the arm minus the other row.
        answer: what they say.
        ended: how the trainings of the arm and of the other row ended; nothing for a row without one.
    """

    hypothesis: Hypothesis
    seeds: tuple[int, ...]
    differences: tuple[float, ...]
    answer: Answer
    ended: tuple[State | None, State | None]

    @property
    def verdict(self) -> Verdict:
        """The test's, unless more training could overturn it."""
        return with_training(self.answer.verdict, *self.ended)


def judge(
    given: Sequence[Hypothesis],
    comparisons: pd.DataFrame,
    pairs: pd.DataFrame,
    levelled: Sequence[Levelled] = (),
    *,
    level: float,
) -> list[Tested]:
    """Test every hypothesis of a study.

    Args:
        given: the study's hypotheses.
        comparisons: the experiments' comparisons below one another, with `run` and `seed`.
        pairs: the errors over patients of any two rows, likewise; with `other_run` those of two runs too.
        levelled: how the arms' trainings ended; a row that is not among them did not train.
        level: coverage of the intervals.

    Returns:
        The hypotheses in their order; none where the study has one seed, which says nothing of training.

    Raises:
        ValueError: when a seed lacks a value that a claim is about, or the error of a pair of two runs.
    """
    seeds = tuple(sorted(int(seed) for seed in comparisons["seed"].unique()))
    if len(seeds) < 2 or not given:
        return []
    values = comparisons.set_index(["run", "arm", "metric", "seed"])["value"].sort_index()
    errors = both_ways(pairs)
    sharing = {str(run) for run, own in comparisons.groupby("run") if share_films(own)}
    questions = [_question(one, values, errors, seeds, sharing) for one in given]
    return [
        Tested(one, seeds, tuple(asked.differences), found, _ended(one, levelled))
        for one, asked, found in zip(given, questions, answer(questions, level=level), strict=True)
    ]


def _ended(one: Hypothesis, levelled: Sequence[Levelled]) -> tuple[State | None, State | None]:
    arm, over = (state_of(levelled, place, one.metric) for place in (one.arm, one.over))
    return arm, over


def _question(
    one: Hypothesis,
    values: pd.Series,
    errors: dict[tuple[object, ...], float],
    seeds: Sequence[int],
    sharing: Collection[str],
) -> Question:
    differences, of_patients = _of_pair(one.arm, one.over, one.metric, values, errors, seeds, sharing)
    kin = f"{one.metric} over {'.'.join(one.over)}"
    if one.beyond is not None:
        arm, over = ((one.beyond, row) for _, row in (one.arm, one.over))
        less, more_error = _of_pair(arm, over, one.metric, values, errors, seeds, sharing)
        differences = [mine - theirs for mine, theirs in zip(differences, less, strict=True)]
        # as of other patients; of the same ones, as in drawn hospitals, an error is less than this
        of_patients = [math.hypot(*both) for both in zip(of_patients, more_error, strict=True)]
        kin += f" beyond {one.beyond}"
    return Question(
        differences, of_patients, one.claim.expects, one.claim.margin, one.family, kin, one.expected_spread
    )


def _of_pair(
    one: Place,
    over: Place,
    metric: str,
    values: pd.Series,
    errors: dict[tuple[object, ...], float],
    seeds: Sequence[int],
    sharing: Collection[str],
) -> tuple[list[float], list[float]]:
    """Each seed's difference of two rows, and its error over the patients."""
    (run, arm), (other_run, other) = one, over
    others = [_row(values, other_run, other, metric, seed) for seed in seeds]
    differences = [
        _value(values, one, metric, seed) - _value(values, (other_run, row), metric, seed)
        for seed, row in zip(seeds, others, strict=True)
    ]
    if run in sharing:  # on the same films in each seed what is asked is of training alone
        return differences, [0.0] * len(seeds)
    if run == other_run:
        pairs = [(seed, metric, run, arm, run, row) for seed, row in zip(seeds, others, strict=True)]
        return differences, [errors[pair] for pair in pairs]
    return differences, [_across(errors, (seed, metric, run, arm, other_run, other)) for seed in seeds]


def _across(errors: dict[tuple[object, ...], float], pair: tuple[int, str, str, str, str, str]) -> float:
    """The error over patients of arms of two runs; 0 where they scored other films: seeds alone decide."""
    if pair not in errors:
        seed, metric, run, arm, other_run, other = pair
        raise ValueError(
            f"seed {seed} has no error over patients of {run}.{arm} over {other_run}.{other} on {metric}: "
            "its file of finished seeds was packed for other claims; pack it again, or run that seed here"
        )
    return 0.0 if math.isnan(errors[pair]) else errors[pair]


def _row(values: pd.Series, run: str, row: str, metric: str, seed: int) -> str:
    """The row that a claim is over in a seed: itself, or the best of those that need no model."""
    if row != BEST:
        return row
    known = {one: _value(values, (run, one), metric, seed) for one in WITHOUT_MODEL}
    return max(known, key=lambda one: known[one])


def _value(values: pd.Series, place: Place, metric: str, seed: int) -> float:
    run, arm = place
    try:
        found = float(values.loc[run, arm, metric, seed])
    except KeyError:
        found = math.nan
    if math.isnan(found):
        named = f"run {run}, " if run else ""
        raise ValueError(
            f"{named}{arm} on {metric}: no value in seed {seed}, which a claim of the study needs; leave the "
            "metric out of the claim, or run other seeds"
        )
    return found


def both_ways(pairs: pd.DataFrame) -> dict[tuple[object, ...], float]:
    """The errors over patients of any two rows, whichever of them is named first.

    Args:
        pairs: as `judge` takes them.

    Returns:
        By seed, metric and both rows, each a run and its name.
    """
    other_run = pairs.get("other_run", pairs["run"]).fillna(pairs["run"])
    pairs = pairs.assign(other_run=other_run)
    columns = ("seed", "metric", "run", "arm", "other_run", "other", "error")
    lines = [*zip(*(pairs[column].tolist() for column in columns), strict=True)]
    return {
        (seed, metric, *one, *other): error
        for seed, metric, *rows, error in lines
        for one, other in ((rows[:2], rows[2:]), (rows[2:], rows[:2]))
    }
