"""The format reward: whether an output is reasoning and then a report, each in its block (MRG-R1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from radrl.reports.think_report import CREDITS, Fault, format_credit


class Format:
    """The credit of an output's form; the only part that reads more than the report.

    Args:
        credits: what each fault leaves; nothing for the table of `radrl.reports.think_report`.
    """

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
