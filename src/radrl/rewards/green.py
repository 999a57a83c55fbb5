"""GREEN of a report, by a judge that reads it beside its reference, as a reward."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from radrl.evaluation import green
from radrl.parts.section import Section
from radrl.rewards.base import Missing, RewardError
from radrl.scoring import ScoringError
from radrl.scoring.green import read_pairs
from radrl.scoring.judge import EndpointSection, FolderSection, build_judge

_TRIAL: Final = "No pleural effusion."


class GreenRewardSection(Section):
    """The judge, as eval.green has it."""

    judge: Annotated[EndpointSection | FolderSection, Field(discriminator="backend")]


class Green:
    """Matched findings / (matched + errors) of two reports (Ostmeier et al. 2024), counted by a judge.

    As the metric of that name (`radrl.scoring.green`), of which only the published model's figures are the
    paper's. An answer that fails or cannot be read is a missing score, and so is a report against a reference
    without a word. A judge behind an endpoint is waited for in a thread; one of a folder computes here.

    Args:
        missing: what becomes of a report without a score; ``raise`` ends with the judge's reason.
        judge: of `radrl.scoring.judge.build_judge`.

    Raises:
        RewardError: when the judge refuses its settings.
    """

    Section = GreenRewardSection
    name, clinical = "green", True
    reads: Literal["report", "output"] = "report"
    told: Mapping[str, float] = {}

    def __init__(self, missing: Missing = "raise", *, judge: Mapping[str, Any]) -> None:
        self._missing, self.waits = missing, judge.get("backend") == "endpoint"
        try:
            self._judge = build_judge(judge)
        except ScoringError as error:
            raise RewardError(f"reward {self.name}: {error}") from error

    @contextmanager
    def opened(self) -> Iterator[dict[str, str]]:
        """See `radrl.rewards.base.Reward`; the judge has answered by then, whatever it said."""
        try:
            (answer,) = self._judge.answer([green.prompt(_TRIAL, _TRIAL)])
        except ScoringError as error:
            raise RewardError(f"reward {self.name}: {error}") from error
        if answer.failure is not None and not answer.text:
            raise RewardError(f"reward {self.name}: the judge does not answer: {answer.failure}")
        yield self._judge.about

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> Sequence[float]:
        """See `radrl.rewards.base.Reward`.

        Raises:
            RewardError: when the judge cannot be asked, or has no score for a report that may not lack one.
        """
        rows = [row for row, reference in enumerate(references) if reference.strip()]
        truth, found = ([texts[row] for row in rows] for texts in (references, reports))
        try:
            read = read_pairs(self._judge, truth, found)
        except ScoringError as error:
            raise RewardError(f"reward {self.name}: {error}") from error
        scores = [math.nan] * len(reports)
        for row, own in zip(rows, read, strict=True):
            if not isinstance(own, str):
                scores[row] = green.score(own)
            elif self._missing == "raise":
                raise RewardError(
                    f"reward {self.name} has no score for film {sample_ids[row]}: {own}. Set its missing to "
                    "skip, which leaves such a report without this part"
                )
        return scores
