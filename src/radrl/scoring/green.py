"""GREEN of texts: a judge compares the pairs, `radrl.evaluation.green` asks, reads and scores.

Metrics: ``green``, the mean over reports; ``green_false_finding`` to ``green_missing_comparison``, the mean
number of clinically significant errors of each kind in a report; ``green_matched``, of matched findings; and
``green_unscored``, how many reports have no valid answer. The figures depend on the judge: only those of the
published model are the paper's GREEN, so `Scores.about` names it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import numpy as np
from pydantic import Field

from radrl.evaluation import green, mean_metrics
from radrl.evaluation.green import ERRORS, MAX_WORDS, GreenAnswerError, GreenCounts
from radrl.parts.section import Section, takes
from radrl.scoring import Missing, Scores, refuse_unscored, require_missing, require_pairs
from radrl.scoring.judge import Answer, EndpointSection, FolderSection, Judge, build_judge

METRICS: Final[tuple[str, ...]] = ("green", *(f"green_{kind}" for kind in ERRORS), "green_matched")

_MEND: Final = (
    "Run again for what failed on the way (whole answers are in the judge's cache, if it has one), or set "
    "missing to skip to leave out what cannot be read"
)


class GreenSection(Section):
    """GREEN by a judge."""

    judge: Annotated[EndpointSection | FolderSection, Field(discriminator="backend")]
    missing: Missing


class Green:
    """Every ``green*`` metric of one judge.

    Args:
        judge: who compares the reports.
        missing: what becomes of a report without a valid answer: ``raise``, or ``skip`` to leave it out of
            the means and count it in ``green_unscored``. It is never scored 0 or 1.

    Raises:
        ValueError: for another value of `missing`.
    """

    name = "green"

    def __init__(self, judge: Judge, *, missing: Missing) -> None:
        require_missing(missing)
        self.judge, self.missing = judge, missing

    def score(self, references: Sequence[str], hypotheses: Sequence[str]) -> Scores:
        """See `radrl.scoring.Scorer`; pairs that give the same prompt are asked once.

        Raises:
            ValueError: when a reference is empty.
            ScoringError: naming the first report without a valid answer and how many there are, when they may
                not be left out or none is left; or when the judge cannot be asked.
        """
        require_pairs(references, hypotheses)
        for row, text in enumerate(references):
            if not text.strip():
                raise ValueError(f"reference {row} is empty; leave the study out")
        read = read_pairs(self.judge, references, hypotheses)
        failures = [(row, found) for row, found in enumerate(read) if isinstance(found, str)]
        refuse_unscored(failures, len(read), self.missing, score="GREEN", mend=_MEND)
        rows = np.array([_row(found) for found in read])  # (N, metrics)
        per_report = {name: rows[:, i] for i, name in enumerate(METRICS)}
        summed = mean_metrics(per_report, missing=True)
        corpus = summed.values() | {"green_unscored": float(len(failures))}
        return Scores(corpus, per_report, summed=summed, about=self._about(references, hypotheses))

    def _about(self, references: Sequence[str], hypotheses: Sequence[str]) -> dict[str, str]:
        cut = sum(len(text.split()) > MAX_WORDS for text in (*references, *hypotheses))
        digest = hashlib.sha256(green.prompt("", "").encode()).hexdigest()
        return self.judge.about | {"prompt_sha256": digest, f"reports_cut_to_{MAX_WORDS}_words": str(cut)}


@takes(GreenSection)
def green_by(*, judge: Mapping[str, Any], missing: Missing) -> Green:
    """GREEN: a language model compares report and reference, errors by kind and findings that match.

    Args:
        judge: of `radrl.scoring.judge.build_judge`.
        missing: as `Green` takes it.
    """
    return Green(build_judge(judge), missing=missing)


def read_pairs(judge: Judge, references: Sequence[str], hypotheses: Sequence[str]) -> list[GreenCounts | str]:
    """What a judge finds in each of N pairs, or why it is not known.

    Args:
        judge: who compares the reports.
        references: N reference reports.
        hypotheses: the N generated reports.

    Raises:
        ScoringError: when the judge cannot be asked.
    """
    prompts = [green.prompt(*pair) for pair in zip(references, hypotheses, strict=True)]
    return [_read(answer) for answer in judge.answer(prompts)]


def _read(answer: Answer) -> GreenCounts | str:
    """The counts, or why there are none."""
    if answer.failure is not None:
        return answer.failure
    try:
        return green.parse(answer.text)
    except GreenAnswerError as error:
        return f"in the judge's answer {error}"


def _row(found: GreenCounts | str) -> list[float]:
    if isinstance(found, str):
        return [math.nan] * len(METRICS)
    return [green.score(found), *found.errors, found.matched]
