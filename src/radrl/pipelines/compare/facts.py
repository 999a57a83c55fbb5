"""The facts of the films that the page shows, for arms whose reward is FactS (OraPO, figure 3).

By rules, whoever found them in training: a judge asked again would need its server and could answer
otherwise, and the page is the same from the same reports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from radrl.scoring.facts.rules import RulesEntailment, RulesExtractor
from radrl.scoring.facts.score import FactS
from radrl.scoring.facts.table import LabelFacts, by_label

Lines = Mapping[str, Mapping[str, Sequence[LabelFacts]]]
"""By arm and sample_id."""

_TAKEN = ("beta", "xi", "both_empty")


def facts_of(arm_reports: Mapping[str, pd.DataFrame], arms: Mapping[str, Any], shown: Sequence[str]) -> Lines:
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
