"""What a report's facts say of each label, for a reader: the last column of OraPO's figure 3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from radrl.observations import BLANK, NEGATIVE, OBSERVATIONS, POSITIVE, UNCERTAIN
from radrl.scoring.facts.base import Verdict
from radrl.scoring.facts.score import Outcome, ReportFacts

_STATED = {BLANK: "", POSITIVE: "present", NEGATIVE: "absent", UNCERTAIN: "uncertain"}


@dataclass(frozen=True, slots=True)
class LabelFacts:
    """One label of one report.

    Args:
        observation: its name.
        reference: what the reference says of it: present, absent, uncertain, or nothing.
        verdict: what the facts say of it: supported, contradicted or silent.
        outcome: how that entered precision and recall; nothing where it did not.
        facts: the facts that the verdict rests on.
    """

    observation: str
    reference: str
    verdict: str
    outcome: Outcome | None
    facts: tuple[str, ...]


def by_label(report: ReportFacts, reference: Sequence[int]) -> list[LabelFacts]:
    """Set what a report's facts entail beside its reference's labels.

    Args:
        report: of `radrl.scoring.facts.score.FactS.score`.
        reference: 14 class indices, those that it was scored against.

    Returns:
        A line a label of which the facts say something or which entered the score, in the order of the
        observations; none where a part failed.
    """
    lines = [
        LabelFacts(
            name,
            _STATED[known],
            ruling.verdict.name.lower(),
            report.outcomes.get(name),
            tuple(report.facts[number] for number in ruling.facts),
        )
        for name, known, ruling in zip(OBSERVATIONS, reference, report.rulings, strict=False)
    ]
    silent = Verdict.SILENT.name.lower()
    return [line for line in lines if line.outcome or line.verdict != silent]
