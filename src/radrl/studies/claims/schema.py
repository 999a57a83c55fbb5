"""A claim as a study file states it: before the study has run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import Field

from radrl.params.messages import ParamsError
from radrl.parts.choices import hint
from radrl.parts.section import PositiveFloat, Section

Place = tuple[str, str]
"""A run and an arm."""

WITHOUT_MODEL: Final = (
    "constant_normal_report",
    "every_label_positive",
    "random_training_report",
    "nearest_training_film",
)
"""Rows that a claim may set an arm over, besides other arms."""

BEST: Final = "best_without_model"
"""Of these the one with the highest value, in each seed anew: an arm above it is above all of them."""


class Claim(Section):
    """That one row is above another one, or as good.

    Args:
        says: the claim in one sentence.
        where: the paper and the place in it, or who else says so.
        arm: an arm, or `run.arm` of a study with runs.
        over: another one, a row that needs no model, or `best_without_model`.
        beyond: a run of the study; the claim is then that the difference is above that of the same two rows
            in this run, as a gain at home is above that at another hospital.
        metrics: on which, each a hypothesis of its own.
        expects: `more`: above by anything; `as_much`: below by less than `margin`.
        margin: the least difference that matters.
        family: hypotheses of one family are corrected together; by default those of one `where`.
        spread: by metric, the standard deviation of a seed's difference that was expected, instead of the
            study's.
    """

    says: Annotated[str, Field(min_length=1)]
    where: Annotated[str, Field(min_length=1)]
    arm: str
    over: str
    beyond: str | None = None
    metrics: Annotated[list[str], Field(min_length=1)]
    expects: Literal["more", "as_much"] = "more"
    margin: PositiveFloat = 0.01
    family: str | None = None
    spread: dict[str, PositiveFloat] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A claim on one metric.

    Args:
        claim: the claim.
        metric: the metric.
        arm: the run and arm it is about.
        over: the run and row it is set against.
        family: which hypotheses are corrected together.
        expected_spread: standard deviation of a seed's difference that was expected, where one was.
        beyond: the run whose difference of the same rows is taken off, where the claim names one.
    """

    claim: Claim
    metric: str
    arm: Place
    over: Place
    family: str
    expected_spread: float | None
    beyond: str | None = None


def hypotheses(
    claims: Sequence[Claim],
    arms: Mapping[str, Sequence[str]],
    metrics: Sequence[str],
    spread: Mapping[str, float],
    *,
    without_model: Sequence[str] = (*WITHOUT_MODEL, BEST),
    where: str,
) -> list[Hypothesis]:
    """Every claim on each of its metrics.

    Args:
        claims: the section `claims` of a study file.
        arms: the study's arms by run.
        metrics: the study's metrics.
        spread: by metric, the standard deviation of a seed's difference that is expected.
        without_model: rows that a claim may set an arm over, besides other arms.
        where: begins the messages.

    Returns:
        The hypotheses in the order of claims and metrics.

    Raises:
        ParamsError: when a claim names an arm, row or metric that the study has not.
    """
    found = []
    for i, claim in enumerate(claims):
        at = f"{where}: claims[{i}]"
        arm = _place(claim.arm, None, arms, f"{at}.arm")
        rows = {run: (*own, *without_model) for run, own in arms.items()}
        over = _place(claim.over, arm[0], rows, f"{at}.over")
        if over == arm:
            raise ParamsError(f"{at}.over: {claim.over!r} is the claim's own arm; name another row")
        _require_beyond(claim.beyond, arm, over, rows, f"{at}.beyond")
        for metric in claim.metrics:
            if metric not in metrics:
                raise ParamsError(f"{at}.metrics: {metric!r} is none of the study's{hint(metric, metrics)}")
            expected = claim.spread.get(metric, spread.get(metric))
            family = claim.family or claim.where
            found.append(Hypothesis(claim, metric, arm, over, family, expected, claim.beyond))
    return found


def _require_beyond(
    beyond: str | None, arm: Place, over: Place, rows: Mapping[str, Sequence[str]], where: str
) -> None:
    """Refuse a run in which the difference cannot be taken again."""
    if beyond is None:
        return
    if beyond not in rows:
        raise ParamsError(f"{where}: there is no run {beyond!r}{hint(beyond, rows)}")
    if arm[0] != over[0] or beyond == arm[0]:
        raise ParamsError(f"{where}: arm and over are rows of one run, and {beyond!r} is another run")
    for row in (arm[1], over[1]):
        _place(f"{beyond}.{row}", None, rows, where)


def _place(name: str, run: str | None, rows: Mapping[str, Sequence[str]], where: str) -> Place:
    """What `arm` or `run.arm` names; without a run that of the claim's arm, or the one run that has it."""
    own, _, arm = name.rpartition(".")
    if own and own not in rows:
        raise ParamsError(f"{where}: there is no run {own!r}{hint(own, rows)}")
    places = [one for one in ([own] if own else rows) if arm in rows[one]]
    if not own and run in places:
        return run, arm
    if not places:
        there = dict.fromkeys(row for one in ([own] if own else rows) for row in rows[one])
        raise ParamsError(f"{where}: {arm!r} is no row of the study{hint(arm, there)}")
    if len(places) > 1:
        raise ParamsError(f"{where}: {arm!r} is in runs {', '.join(places)}; write {places[0]}.{arm}")
    return places[0], arm
