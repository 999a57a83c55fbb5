"""The other hospital's wording."""

from __future__ import annotations

import numpy as np
import pytest

from radrl.data.phantom.findings import PREVALENCE, draw_case, draw_patient
from radrl.data.phantom.report import Report, Sentence
from radrl.data.phantom.telegraphic import telegraphic
from radrl.data.phantom.wording import write_report
from radrl.data.sources.phantom import read
from radrl.labelers.rules.labeler import RulesLabeler

STUDIES = 400


@pytest.mark.parametrize(
    ("usual", "short"),
    [
        ("There is a small right apical pneumothorax.", "Small R apical PTX."),
        ("There is no evidence of pleural effusion or pneumothorax.", "Neg for eff or PTX."),
        ("Possible consolidation in the right lower lobe.", "Possible consol in RLL."),
        ("Mild pulmonary edema cannot be excluded.", "Cannot r/o mild pulm edema."),
        ("Mild cardiomegaly is possible.", "Poss mild CM."),
        ("Findings in the left upper lobe are consistent with pneumonia.", "In LUL c/w PNA."),
        ("There is moderate cardiomegaly.", "Mod CM."),
        ("Heart size is normal.", "Heart size WNL."),
        ("Endotracheal tube tip is 4 cm above the carina.", "ETT tip is 4 cm above carina."),
        (
            "Patient is status post median sternotomy with a prosthetic valve.",
            "S/p median sternotomy w/ prosthetic valve.",
        ),
        ("The osseous structures are intact.", "Bones intact."),
    ],
)
def test_a_sentence_becomes_short(usual: str, short: str) -> None:
    (made,) = telegraphic(Report((Sentence(usual),), ())).findings
    assert made.text == short


def test_what_a_report_states_stays_sentence_by_sentence() -> None:
    for seed in range(50):
        rng = np.random.default_rng(seed)
        case = draw_case(draw_patient(rng), rng, prevalence=PREVALENCE, hedge_share=0.2)
        report = write_report(case, rng, lateral=False, prior=True)
        short = telegraphic(report)
        for before, after in ((report.findings, short.findings), (report.impression, short.impression)):
            assert [(s.states, s.topic) for s in before] == [(s.states, s.topic) for s in after]
        assert short.gold() == report.gold()
        assert sum(len(s.text) for s in short.findings) < sum(len(s.text) for s in report.findings)


@pytest.mark.parametrize("boilerplate", ["usual", "more"])
def test_the_rules_read_what_was_drawn(boilerplate: str) -> None:
    """Printed as they are: some in capitals, small letters, lines or lists."""
    records = read(
        seed=3,
        image_size=32,
        studies={"test": STUDIES},
        lateral_share=0.2,
        missing_findings=0.0,
        boilerplate=boilerplate,
        wording="telegraphic",
    )
    reports = {one.study_id: one for one in records}
    labels = RulesLabeler().label([f"{one.findings}\n\n{one.impression or ''}" for one in reports.values()])
    agree = [tuple(map(int, row)) == one.gold for row, one in zip(labels, reports.values(), strict=True)]
    assert sum(agree) == STUDIES
