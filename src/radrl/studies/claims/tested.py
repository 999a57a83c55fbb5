"""A study's claims held against what its seeds gave."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pandas as pd

from radrl.studies.claims.stated import BEST, WITHOUT_MODEL, Hypothesis, Place
from radrl.studies.claims.verdict import Answer, Question, Verdict, answer, with_training
from radrl.studies.levelling import Levelled, state_of
from radrl.studies.tables import share_films
from radrl.training.watching.levelling import State


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
        ValueError: when a seed lacks a value that a claim is about.
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
    pairs = [(seed, metric, run, arm, other_run, row) for seed, row in zip(seeds, others, strict=True)]
    # two runs may have scored other films, and then have no error together: seeds alone decide
    return differences, [errors[pair] if run == other_run else errors.get(pair, 0.0) for pair in pairs]


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
