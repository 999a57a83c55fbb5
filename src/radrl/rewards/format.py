"""The format reward: whether an output is reasoning and then a report, each in its block (MRG-R1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field, model_validator

from radrl.parts.section import Section
from radrl.reports.output import CREDITS, FAULTS, Fault, format_credit

Credit = Annotated[float, Field(ge=0, lt=1)]


class FormatSection(Section):
    """The credit of an output's form; `credits` gives each fault another than the table's."""

    credits: dict[Fault, Credit] | None = None

    @model_validator(mode="after")
    def _every_fault(self) -> FormatSection:
        if self.credits is not None and (absent := [fault for fault in FAULTS if fault not in self.credits]):
            raise ValueError(f"credits lacks {', '.join(absent)}; give every fault one, or leave it out")
        return self


class Format:
    """The credit of an output's form; the only part that reads more than the report.

    Args:
        credits: what each fault leaves; nothing for the table of `radrl.reports.output`.
    """

    Section = FormatSection
    name, clinical = "format", False
    reads: Literal["report", "output"] = "output"
    told: Mapping[str, float] = {}

    def __init__(self, *, credits: Mapping[Fault, float] | None = None) -> None:
        self.credits = CREDITS if credits is None else credits

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> Sequence[float]:
        """See `radrl.rewards.base.Reward`."""
        return [format_credit(output, self.credits) for output in reports]
