"""The facts and the costed findings of the reports that the page shows, beside their references' labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from radrl.observations import BLANK, NEGATIVE, OBSERVATIONS, POSITIVE, UNCERTAIN
from radrl.scoring.facts import FactS, Outcome, ReportFacts, Verdict
from radrl.scoring.facts.rules import RulesEntailment, RulesExtractor

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
        report: of `radrl.scoring.facts.FactS.score`.
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


Lines = Mapping[str, Mapping[str, Sequence[LabelFacts]]]
"""By arm and sample_id."""


_TAKEN = ("beta", "xi", "both_empty")


def read_facts(
    arm_reports: Mapping[str, pd.DataFrame], arms: Mapping[str, Any], shown: Sequence[str]
) -> Lines:
    """Read the facts of the reports that are shown, against the labels of their references.

    Args:
        arm_reports: by arm, its reports, with the labels of the references.
        arms: the section `arms`.
        shown: sample_ids.

    Returns:
        For each arm with a reward `facts`, the lines of each of its shown reports.
    """
    found = {}
    for arm, frame in arm_reports.items():
        settings = (arms.get(arm, {}).get("reward") or {}).get("facts")
        if settings:
            found[arm] = _lines(frame.set_index("sample_id").loc[list(shown)], settings)
    return found


def _lines(frame: pd.DataFrame, settings: Mapping[str, Any]) -> dict[str, list[LabelFacts]]:
    if frame.empty:
        return {}
    # named here and not looked up by name, so that the stage's digest counts them
    entailment = RulesEntailment(uncertain_as_positive=settings["uncertain_as_positive"])
    own = {key: settings[key] for key in _TAKEN if key in settings}
    reader = FactS(RulesExtractor(), entailment, **own)
    labels = np.stack(frame["reference_labels"].to_list())
    scored = reader.score(frame["report"].tolist(), labels, [str(of) for of in frame.index])
    pairs = zip(scored.reports, labels.tolist(), strict=True)
    return {report.id: by_label(report, known) for report, known in pairs}


FINDING_COSTS: Final = "weighted_findings_lines"
"""Column of the stage eval's table; named here too, so that the page's digest does not count the metric."""


FindingCosts = dict[str, dict[str, list[dict[str, Any]]]]
"""By arm and sample_id, a row a finding."""


def weigh_findings(arm_reports: Mapping[str, pd.DataFrame], shown: Sequence[str]) -> FindingCosts:
    """What each finding of the reports that are shown costs.

    Args:
        arm_reports: by arm, its reports as the stage eval scored them.
        shown: sample_ids.

    Returns:
        Of the arms that were scored so, for each of these reports the rows of
        `radrl.scoring.weighted_findings.explain.rows`, what costs most first; nothing where
        ``weighted_findings`` is not among `eval.families`.
    """
    return {
        arm: {
            sample: sorted(lines, key=lambda row: (-row["cost"], row["finding"]))
            for sample, lines in frame.set_index("sample_id").loc[list(shown), FINDING_COSTS].items()
        }
        for arm, frame in arm_reports.items()
        if FINDING_COSTS in frame
    }
