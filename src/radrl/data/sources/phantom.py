"""The source `phantom`: drawn films with reports, from one seed (`radrl.data.phantom`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, TypeGuard

import numpy as np
from pydantic import Field, field_validator, model_validator

from radrl.data.phantom.findings import (
    DRAWN,
    SEVERITY,
    Case,
    Patient,
    check_hedges,
    draw_case,
    draw_patient,
    shares_of,
)
from radrl.data.phantom.history import (
    FollowUp,
    compared,
    draw_age,
    draw_change,
    draw_indication,
    with_finding,
)
from radrl.data.phantom.report import Report, print_section
from radrl.data.phantom.telegraphic import Wording, telegraphic
from radrl.data.phantom.wording import (
    WORDS,
    Boilerplate,
    check_words,
    reword,
    write_report,
)
from radrl.data.sources import Source
from radrl.data.study import SPLITS, Record
from radrl.parts.choices import near
from radrl.parts.section import PositiveFloat, PositiveInt, Section, Share, Split, takes

POOL: Final = "train"
"""The split that can have near copies and trivially normal studies."""
# A block of four studies belongs to one to four patients; blocks are drawn apart, so that a split can grow.
_BLOCK: Final = 4
_PARTITIONS: Final = ((1, 1, 1, 1), (2, 1, 1), (1, 1, 2), (2, 2), (3, 1), (4,))
_PAIRS: Final = (2, 2)
_PARTITION_CHANCES: Final = (0.35, 0.2, 0.2, 0.1, 0.1, 0.05)
_PATIENT, _STUDY, _PARTITION, _KIND, _COPY, _FOLLOW, _AGE, _REQUEST = range(8)
_REWORDED: Final = 0.5
"""The chance of a near copy's report to be worded a little otherwise, not to be the same."""


class PhantomSection(Section):
    """The drawn source."""

    studies: dict[Split, Annotated[int, Field(ge=0)]]
    prevalence: float | dict[str, float]
    severity: Annotated[list[PositiveFloat], Field(min_length=2, max_length=2)]
    words: Annotated[list[PositiveInt], Field(min_length=2, max_length=2)]
    noise: Annotated[float, Field(ge=0)]
    lateral_share: Share
    hedge_share: Share
    missing_findings: Share
    missing_impression: Share
    boilerplate: Boilerplate = "usual"
    near_copies: Share = 0.0
    normal_share: Share = 0.0
    exposure: float = 0.0
    contrast: PositiveFloat = 1.0
    wording: Wording = "usual"
    follow_ups: Share = 0.0

    @field_validator("prevalence", mode="plain")
    @classmethod
    def _drawable(cls, prevalence: object) -> float | dict[str, float]:
        """Plain, since pydantic would name every branch of the union that a wrong value fails."""
        if _is_number(prevalence):
            shares_of(prevalence)
            return prevalence
        if not isinstance(prevalence, Mapping):
            raise ValueError(
                "must be a number, which scales every share, or shares of single observations "
                f"(it is {prevalence!r})"
            )
        for name, share in prevalence.items():
            if name not in DRAWN:
                raise ValueError(
                    f"{name!r} is no observation that is drawn{near(str(name), DRAWN)} "
                    f"Observations: {', '.join(DRAWN)}"
                )
            if not _is_number(share):
                raise ValueError(f"{name}: must be a number (it is {share!r})")
        shares_of(prevalence)
        return dict(prevalence)

    @field_validator("words")
    @classmethod
    def _rising(cls, words: list[int]) -> list[int]:
        check_words(words)
        return words

    @model_validator(mode="after")
    def _enough_subtle_findings(self) -> PhantomSection:
        check_hedges(self.hedge_share, self.severity)
        return self

    @model_validator(mode="after")
    def _a_pool(self) -> PhantomSection:
        if self.follow_ups and self.near_copies + self.normal_share:
            raise ValueError(
                "follow_ups compares a patient's studies, of which near_copies and normal_share make others; "
                "set these two to 0, or follow_ups"
            )
        if self.near_copies + self.normal_share > 1:
            raise ValueError(
                f"near_copies and normal_share are shares of the same training studies, together at most 1 "
                f"(they are {self.near_copies:g} and {self.normal_share:g})"
            )
        return self


def _is_number(value: object) -> TypeGuard[float]:
    """Whether YAML has a number there, and no truth value."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@takes(PhantomSection, drawn=True)
def phantom(seed: int, image_size: int, **settings: Any) -> Source:
    """Drawn films with reports, from one seed.

    Args:
        seed: of everything drawn.
        image_size: of the films, in pixels.
        **settings: further arguments of `radrl.data.sources.phantom.read`.
    """
    return Source(read(seed=seed, image_size=image_size, **settings))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a study stands: split, number, patient, which visit it is, whether it follows up the last one."""

    split: str
    index: int
    patient: int
    visit: int
    follows: bool = False


@dataclass(frozen=True, slots=True)
class _Kinds:
    """What a split's studies are besides drawn ones.

    Args:
        origin: by its number, the study that each is a near copy of; of one that is none its own number.
        normal: numbers of the studies that are drawn without any finding.
    """

    origin: Sequence[int]
    normal: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Told:
    """A study before it is printed: its case and report, its own generator behind them, and its request."""

    case: Case
    report: Report
    rng: np.random.Generator
    lateral: bool
    indication: str | None


@dataclass(frozen=True, slots=True)
class _Look:
    """How a hospital's films look, whatever they show: as `read` takes it."""

    image_size: int
    noise: float
    exposure: float
    contrast: float


def read(
    *,
    seed: int,
    studies: Mapping[str, int],
    image_size: int = 112,
    prevalence: float | Mapping[str, float] = 1.0,
    severity: Sequence[float] = SEVERITY,
    words: Sequence[int] = WORDS,
    noise: float = 0.03,
    lateral_share: float = 0.25,
    hedge_share: float = 0.18,
    missing_findings: float = 0.04,
    missing_impression: float = 0.08,
    boilerplate: Boilerplate = "usual",
    near_copies: float = 0.0,
    normal_share: float = 0.0,
    exposure: float = 0.0,
    contrast: float = 1.0,
    wording: Wording = "usual",
    follow_ups: float = 0.0,
) -> Iterator[Record]:
    """Draw studies, one after another.

    Every study has its own seed, derived from `seed`, its split and its number: a split can grow or shrink
    and the other studies keep their bytes. Patients never cross splits.

    Args:
        seed: of everything drawn, at least 0.
        studies: number of studies a split (`radrl.data.study.SPLITS`).
        image_size: height and width of the films in pixels.
        prevalence: share of studies with each observation; a number scales the usual ones
            (`radrl.data.phantom.findings.PREVALENCE`), a mapping replaces those it names.
        severity: a and b of the Beta distribution of a finding's severity, 0 (barely visible) to 1 (gross).
        words: low and high; findings are filled with stock sentences to a length from low to high - 1.
        noise: grain of the films, standard deviation as a share of the full scale.
        lateral_share: share of studies with a lateral film beside the frontal one.
        hedge_share: share of findings stated with a hedge; subtle ones carry it, so that severity bounds it
            (`radrl.data.phantom.findings.most_hedges`).
        missing_findings: share of studies whose report has no findings section.
        missing_impression: share of studies whose report has no impression; none lacks both.
        boilerplate: which stock sentences findings are filled with
            (`radrl.data.phantom.wording.Boilerplate`).
        near_copies: share of the training studies that are near copies of an earlier one, itself no copy:
            the same findings in the same pose, slightly shifted and with another grain, the same report or
            one in which some stock sentences are others, under another patient's name.
        normal_share: share of the training studies that are trivially normal: nothing is drawn on them, no
            device either. Those that are so anyway come on top.
        exposure: of all films, beside each one's own (`radrl.data.phantom.film.draw_film`).
        contrast: likewise.
        wording: whether the reports' sentences are left as they are, or are telegraphic, with abbreviations.
        follow_ups: share of the blocks of four studies that are two patients with two studies each, whose
            second says what became of a finding of the first (`radrl.data.phantom.history`).

    Yields:
        One record a film; the films of a study share study_id, report and gold.

    Raises:
        ValueError: for an unknown split or observation, a negative number, or a share outside its range.
    """
    _check_shares(lateral_share, missing_findings, missing_impression)
    _check_pool(near_copies, normal_share)
    check_hedges(hedge_share, severity)
    check_words(words)
    shares = shares_of(prevalence)
    if unknown := sorted(set(studies) - set(SPLITS)):
        raise ValueError(f"no such split: {', '.join(unknown)}; splits are {', '.join(SPLITS)}")
    if seed < 0 or any(count < 0 for count in studies.values()):
        raise ValueError(
            f"seed and numbers of studies must be at least 0, got seed {seed} and {dict(studies)}"
        )

    look = _Look(image_size, noise, exposure, contrast)

    def case_of(place: _Place, rng: np.random.Generator) -> Case:
        patient = _patient(seed, place)
        return draw_case(patient, rng, prevalence=shares, hedge_share=hedge_share, severity=severity)

    def follow_up_of(place: _Place) -> FollowUp | None:
        if not place.follows:
            return None
        before = replace(place, index=place.index - 1)
        first = case_of(before, _generator(seed, place.split, _STUDY, before.index))
        return draw_change(first, _generator(seed, place.split, _FOLLOW, place.index))

    def tell(place: _Place, *, normal: bool) -> _Told:
        rng = _generator(seed, place.split, _STUDY, place.index)
        case, follow_up = case_of(place, rng), follow_up_of(place)
        if normal:
            case = replace(case, findings=(), shallow=False)
        if follow_up is not None:
            case = with_finding(case, follow_up.finding)
        lateral = bool(rng.random() < lateral_share)
        prior = place.visit > 0
        report = write_report(case, rng, lateral=lateral, prior=prior, words=words, boilerplate=boilerplate)
        request = _generator(seed, place.split, _REQUEST, place.index)
        if follow_up is not None:
            report = compared(report, follow_up, request)
        indication = draw_indication(case, follow_up, request)
        report = _leave_out(report, rng.random(), missing_findings, missing_impression)
        return _Told(case, report, rng, lateral, indication)

    for split in SPLITS:
        places = list(_places(seed, split, studies.get(split, 0), follow_ups))
        kinds = _kinds(seed, split, len(places), near_copies, normal_share)
        for place, origin in zip(places, kinds.origin, strict=True):
            told, again = tell(places[origin], normal=origin in kinds.normal), None
            if origin != place.index:
                again = _generator(seed, split, _COPY, place.index)
                if again.random() < _REWORDED:
                    told = replace(told, report=reword(told.report, told.case, again, boilerplate))
            if wording == "telegraphic":
                told = replace(told, report=telegraphic(told.report))
            age = draw_age(_generator(seed, split, _AGE, place.patient))
            for record in _records(told, place, look, again):
                yield replace(record, indication=told.indication, age=age, taken=place.visit)


def _records(told: _Told, place: _Place, look: _Look, again: np.random.Generator | None) -> Iterator[Record]:
    """The films of one study; of a near copy, whose generator is `again`, those taken a second time."""
    from radrl.data.phantom.film import Drawing  # scipy, which the section needs not

    report, rng = told.report, told.rng
    findings = print_section(report.findings, rng) if report.findings else None
    impression = print_section(report.impression, rng, numbered=True) if report.impression else None
    views = ("frontal", "lateral")[: 1 + told.lateral]
    seconds = again.spawn(len(views)) if again else [None] * len(views)
    patient = f"p{place.patient:06d}" if again is None else f"c{place.index:06d}"
    for view, film_rng, second in zip(views, rng.spawn(len(views)), seconds, strict=True):
        yield Record(
            key=f"phantom {place.split} study {place.index} {view}",
            study_id=f"{place.split}-s{place.index:06d}",
            patient_id=f"{place.split}-{patient}",
            image=Drawing(
                told.case, film_rng, look.image_size, view, look.noise, second, look.exposure, look.contrast
            ),
            view=view,
            split=place.split,
            findings=findings,
            impression=impression,
            gold=report.gold(),
        )


def _kinds(seed: int, split: str, count: int, near_copies: float, normal_share: float) -> _Kinds:
    """Which training studies are near copies or trivially normal, each drawn apart: a split can grow."""
    origin, normal = list(range(count)), set[int]()
    if split != POOL or not near_copies + normal_share:
        return _Kinds(origin, frozenset())
    for index in range(count):
        rng = _generator(seed, split, _KIND, index)
        chance = rng.random()
        if index and chance < near_copies:
            origin[index] = origin[int(rng.integers(index))]
        elif near_copies <= chance < near_copies + normal_share:
            normal.add(index)
    return _Kinds(origin, frozenset(normal))


def _generator(seed: int, split: str, purpose: int, index: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence([seed, SPLITS.index(split), purpose, index]))


def _patient(seed: int, place: _Place) -> Patient:
    return draw_patient(_generator(seed, place.split, _PATIENT, place.patient))


def _places(seed: int, split: str, count: int, follow_ups: float) -> Iterator[_Place]:
    """Share a split's studies out to patients, block by block; a patient's number is its first study's."""
    for start in range(0, count, _BLOCK):
        rng = _generator(seed, split, _PARTITION, start)
        index = start
        partition = _PARTITIONS[int(rng.choice(len(_PARTITIONS), p=_PARTITION_CHANCES))]
        followed = bool(rng.random() < follow_ups)
        for visits in _PAIRS if followed else partition:
            patient = index
            for visit in range(visits):
                if index < count:
                    yield _Place(split, index, patient, visit, follows=followed and visit > 0)
                index += 1


def _leave_out(report: Report, draw: float, missing_findings: float, missing_impression: float) -> Report:
    """Leave out one section by a uniform draw."""
    if draw < missing_findings:
        return Report((), report.impression)
    if draw < missing_findings + missing_impression:
        return Report(report.findings, ())
    return report


def _check_shares(lateral: float, findings: float, impression: float) -> None:
    for name, share in (
        ("lateral_share", lateral),
        ("missing_findings", findings),
        ("missing_impression", impression),
    ):
        if not 0 <= share <= 1:
            raise ValueError(f"{name} must lie in [0, 1], got {share}")
    if findings + impression > 1:
        raise ValueError(
            f"missing_findings + missing_impression must not exceed 1, got {findings + impression}"
        )


def _check_pool(near_copies: float, normal_share: float) -> None:
    if not (near_copies >= 0 and normal_share >= 0 and near_copies + normal_share <= 1):
        raise ValueError(
            "near_copies and normal_share must be shares of the training studies, together at most 1, "
            f"got {near_copies} and {normal_share}"
        )
