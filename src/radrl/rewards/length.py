"""The length of a report as a reward, to keep in check what longer or shorter reports earn elsewhere."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field, model_validator

from radrl.parts.section import PositiveFloat, Section

Unit = Literal["share", "words"]


class LengthSection(Section):
    """Between which lengths a report earns all, in words or in shares of its reference's words."""

    unit: Unit = "share"
    least: Annotated[float, Field(ge=0)] = 0.8
    most: PositiveFloat = 1.25

    @model_validator(mode="after")
    def _bounds(self) -> LengthSection:
        if self.unit == "words" and not {"least", "most"} <= self.model_fields_set:
            raise ValueError("unit is words, so give both least and most, in words; the defaults are shares")
        if self.least > self.most:
            raise ValueError(f"least is {self.least:g}, above most, which is {self.most:g}; swap them")
        return self


class Length:
    """min(1, w / least, max(0, 2 - w / most)) of a report of w words.

    All from `least` to `most`; below, a straight line to nothing at no word, above, to nothing at twice
    `most`. A straight line beyond a length is DAPO's soft overlong punishment (Yu et al. 2025,
    arXiv:2503.14476, eq. 13), which counts tokens and knows no lower bound; these two slopes are this
    project's. It says nothing of what the words are. `told` has the mean number of words.

    Args:
        unit: what `least` and `most` count: ``share`` of the reference's words, or ``words``.
        least: the shortest that earns 1; at 0 no report is too short.
        most: the longest that earns 1.
    """

    Section = LengthSection
    name, clinical = "length", False
    reads: Literal["report", "output"] = "report"

    def __init__(self, *, unit: Unit = "share", least: float = 0.8, most: float = 1.25) -> None:
        self._shares, self._least, self._most = unit == "share", least, most
        self.told: Mapping[str, float] = {}

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> Sequence[float]:
        """See `radrl.rewards.base.Reward`; a reference without a word gives no share and so no score."""
        counted = [len(report.split()) for report in reports]
        units = [len(reference.split()) if self._shares else 1 for reference in references]
        self.told = {"words": sum(counted) / len(counted)} if counted else {}
        pairs = zip(counted, units, strict=True)
        return [self._credit(words / unit) if unit else math.nan for words, unit in pairs]

    def _credit(self, length: float) -> float:
        shortness = length / self._least if self._least else 1.0
        return min(1.0, shortness, max(0.0, 2.0 - length / self._most))
