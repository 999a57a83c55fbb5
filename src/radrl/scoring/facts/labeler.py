"""FactS with one reader on both sides: the labeler that reads the references reads the reports too.

Departures from OraPO, which asks GPT-4.1 what a report's facts entail (eq. 14) and compares with labels of
another reader: there, as with rules beside a CheXbert's references, a reference's own words can earn less
than 1. So verdicts are the labeler's on the report as a whole. It reads words in their context, and sentence
by sentence would be another reading: a denial may lie in the sentence before, and No Finding in none. The
facts of eq. 13 stand beside the verdicts and decide none of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from radrl.labelers import Labeler
from radrl.observations import NEGATIVE, NO_FINDING, POSITIVE, SUPPORT_DEVICES, UNCERTAIN
from radrl.scoring.facts import Facts, Failure, Ruling, Rulings, Verdict

_SILENT: Final = Ruling(Verdict.SILENT)


class LabelerEntailment:
    """A labeler reads the report that facts come from, so that a reference scores 1 against itself.

    What it finds present is supported, what it finds absent contradicted. No Finding is supported where the
    labeler says so, else contradicted where a finding is supported, Support Devices aside.

    Args:
        labeler: the references'.
        uncertain_as_positive: whether a hedged finding is supported; where not, the report is silent on it.
    """

    name = "labeler"

    def __init__(self, labeler: Labeler, *, uncertain_as_positive: bool) -> None:
        self.labeler, self.uncertain_as_positive = labeler, uncertain_as_positive

    @property
    def about(self) -> dict[str, str]:
        """See `radrl.scoring.facts.Entailment`."""
        return {"labeler": self.labeler.name}

    def entail(self, facts: Sequence[Facts], reports: Sequence[str]) -> list[Rulings | Failure]:
        """See `radrl.scoring.facts.Entailment`; rulings name no fact."""
        return [self._rulings(row) for row in self.labeler.label(reports).tolist()]

    def _rulings(self, row: Sequence[int]) -> Rulings:
        rulings = [Ruling(self._verdict(said)) for said in row[:NO_FINDING]]
        found = any(
            ruling.verdict == Verdict.SUPPORTED
            for observation, ruling in enumerate(rulings)
            if observation != SUPPORT_DEVICES
        )
        if row[NO_FINDING] == POSITIVE:
            return (*rulings, Ruling(Verdict.SUPPORTED))
        return (*rulings, Ruling(Verdict.CONTRADICTED) if found else _SILENT)

    def _verdict(self, said: int) -> Verdict:
        if said == POSITIVE or (said == UNCERTAIN and self.uncertain_as_positive):
            return Verdict.SUPPORTED
        return Verdict.CONTRADICTED if said == NEGATIVE else Verdict.SILENT
