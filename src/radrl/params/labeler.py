"""The section `labeler`: who reads the 14 observations out of a report."""

from __future__ import annotations

from typing import Literal

from radrl.params.base import Section

LabelerName = Literal["rules", "chexbert", "chexbert_compact"]


class Rules(Section):
    """The rule labeler's readings."""

    alternatives: Literal["uncertain", "positive"]
    other_findings: bool


class Compact(Section):
    """CheXbert's architecture, small, trained here."""


class Labeler(Section):
    """Who reads the 14 observations out of a report."""

    name: LabelerName
    rules: Rules
    device: str
    chexbert: str | None
    compact: Compact | None

    def require(self, name: str, key: str) -> None:
        """Refuse a labeler that has no model, naming the key that asks for it."""
        lacking = {"chexbert": self.chexbert is None, "chexbert_compact": self.compact is None}
        if lacking.get(name):
            raise ValueError(f"{key} is {name} but labeler.{name.removeprefix('chexbert_')} is null")
