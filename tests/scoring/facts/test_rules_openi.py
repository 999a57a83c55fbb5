"""What facts keep of real reports: the labels by facts against those the labeler reads in the whole text.

All Open-i reports; those on which the facts differed were looked at while the wording of facts was chosen.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from radrl.labelers.rules.labeler import RulesLabeler
from radrl.observations import NEGATIVE, POSITIVE, UNCERTAIN
from radrl.scoring.facts import Verdict
from radrl.scoring.facts.rules import RulesEntailment, RulesExtractor

REPORTS: Final = Path(os.environ.get("RADRL_SHARED", "")) / "data" / "openi" / "indiana_reports.csv"
pytestmark = pytest.mark.skipif(
    not os.environ.get("RADRL_SHARED") or not REPORTS.is_file(),
    reason="set RADRL_SHARED to a folder with data/openi",
)


@pytest.mark.parametrize("uncertain_as_positive", [True, False])
def test_facts_keep_what_the_labeler_reads(uncertain_as_positive):
    with REPORTS.open(encoding="utf-8") as file:
        reports = [f"{row['findings']} {row['impression']}" for row in csv.DictReader(file)]
    labels = RulesLabeler().label(reports)  # (N, 14)
    facts = RulesExtractor().extract(reports)
    rulings = RulesEntailment(uncertain_as_positive=uncertain_as_positive).entail(facts)
    verdicts = np.array([[ruling.verdict for ruling in one] for one in rulings])  # (N, 14)
    positive = np.isin(labels, [POSITIVE, UNCERTAIN] if uncertain_as_positive else [POSITIVE])
    assert len(reports) > 2000
    assert np.mean((verdicts == Verdict.SUPPORTED) == positive) > 0.9998
    assert np.mean(verdicts[labels == NEGATIVE] == Verdict.CONTRADICTED) > 0.999
    assert not np.any((verdicts == Verdict.CONTRADICTED) & positive)
