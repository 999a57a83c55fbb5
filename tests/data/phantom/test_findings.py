from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radrl.data.phantom.findings import (
    DRAWN,
    PREVALENCE,
    SEVERITY,
    SITES,
    Case,
    Finding,
    case_from_labels,
    check_hedges,
    draw_case,
    draw_patient,
    hedge_chance,
    most_hedges,
    shares_of,
)

STUDIES = 4000
SEVERITIES = [SEVERITY, (5.0, 2.0), (1.0, 1.0), (0.5, 3.0)]


def draw(studies: int, hedge_share: float, severity: tuple[float, float] = SEVERITY) -> list[Case]:
    rng = np.random.default_rng(0)
    shares = {"prevalence": PREVALENCE, "hedge_share": hedge_share, "severity": severity}
    return [draw_case(draw_patient(rng), rng, **shares) for _ in range(studies)]


def diseases(cases: list[Case]) -> list[Finding]:
    """All findings but devices, which are never hedged."""
    return [f for case in cases for f in case.findings if f.label != "Support Devices"]


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return draw(STUDIES, 0.18)


@pytest.mark.parametrize("label", DRAWN)
def test_prevalence_is_as_asked(cases: list[Case], label: str) -> None:
    share = np.mean([case.has(label) for case in cases])
    four_errors = 4 * np.sqrt(PREVALENCE[label] * (1 - PREVALENCE[label]) / STUDIES)
    assert share == pytest.approx(PREVALENCE[label], abs=four_errors)


def test_about_a_third_of_the_studies_are_normal_but_for_devices(cases: list[Case]) -> None:
    normal = np.mean([{f.label for f in case.findings} <= {"Support Devices"} for case in cases])
    assert 0.28 < normal < 0.40


@pytest.mark.parametrize(
    ("given_label", "label", "times"),
    [
        ("Cardiomegaly", "Edema", 2.0),
        ("Edema", "Pleural Effusion", 1.8),
        ("Pleural Effusion", "Atelectasis", 1.3),
        ("Consolidation", "Pneumonia", 2.0),
    ],
)
def test_usual_company(cases: list[Case], given_label: str, label: str, times: float) -> None:
    beside = np.mean([case.has(label) for case in cases if case.has(given_label)])
    assert beside > times * np.mean([case.has(label) for case in cases])


def test_company_shares_the_place(cases: list[Case]) -> None:
    for case in cases:
        for plate in case.labelled("Atelectasis") if case.has("Pleural Effusion") else ():
            assert plate.side == case.labelled("Pleural Effusion")[0].side
        for pneumonia in case.labelled("Pneumonia") if case.has("Consolidation") else ():
            host = case.labelled("Consolidation")[0]
            assert (pneumonia.side, pneumonia.zone) == (host.side, host.zone)


def test_hedges_have_their_share_and_lie_on_subtle_findings(cases: list[Case]) -> None:
    findings = diseases(cases)
    assert np.mean([f.hedged for f in findings]) == pytest.approx(0.18, abs=0.02)
    hedged = np.mean([f.severity for f in findings if f.hedged])
    assert hedged < 0.6 * np.mean([f.severity for f in findings if not f.hedged])
    assert not any(f.hedged for case in cases for f in case.labelled("Support Devices"))


@pytest.mark.parametrize("severity", SEVERITIES)
def test_severity_and_hedges_are_as_asked(severity: tuple[float, float]) -> None:
    a, b = severity
    share = 0.8 * most_hedges(severity)
    findings = diseases(draw(1500, share, severity))
    spread = np.sqrt(a * b / (a + b + 1)) / (a + b)
    four_errors = 4 / np.sqrt(len(findings))
    assert np.mean([f.severity for f in findings]) == pytest.approx(a / (a + b), abs=four_errors * spread)
    assert np.mean([f.hedged for f in findings]) == pytest.approx(
        share, abs=four_errors * np.sqrt(share * (1 - share))
    )


def test_a_larger_first_parameter_makes_findings_graver() -> None:
    means = [np.mean([f.severity for f in diseases(draw(300, 0.0, (a, 2.0)))]) for a in (0.5, 1.2, 3.0, 8.0)]
    assert means == sorted(means)


@given(st.floats(0.1, 20), st.floats(0.1, 20))
def test_with_the_most_hedges_a_finding_of_severity_0_is_always_hedged(a: float, b: float) -> None:
    assert hedge_chance(0.0, (a, b), most_hedges((a, b))) == pytest.approx(1)
    check_hedges(most_hedges((a, b)), (a, b))


@pytest.mark.parametrize("severity", SEVERITIES)
def test_the_mean_chance_of_a_hedge_is_its_share(severity: tuple[float, float]) -> None:
    degrees = np.random.default_rng(0).beta(*severity, size=200_000)
    share = 0.5 * most_hedges(severity)
    assert np.mean([hedge_chance(d, severity, share) for d in degrees]) == pytest.approx(share, rel=0.03)


@pytest.mark.parametrize(
    ("share", "severity", "message"),
    [
        (
            0.05,
            (5.0, 2.0),
            r"hedge_share must lie in \[0, 0.0476\] with severity \[5.0, 2.0\], got 0.05; subtle",
        ),
        (-0.1, SEVERITY, r"hedge_share must lie in \[0, 0.3192\] with severity \[1.2, 1.8\], got -0.1"),
        (0.1, (0.0, 1.0), "severity must be the two parameters of a Beta distribution, each above 0"),
        (0.1, (1.0,), "severity must be the two parameters"),
        (0.1, (float("inf"), 1.0), "severity must be the two parameters"),
    ],
)
def test_hedges_that_cannot_be_kept_are_refused(share: float, severity: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_hedges(share, severity)


def test_shares_are_scaled_or_replaced() -> None:
    assert shares_of(1.0) == PREVALENCE
    assert shares_of(2.0)["Fracture"] == 2 * PREVALENCE["Fracture"]
    assert shares_of({"Fracture": 0.3}) == PREVALENCE | {"Fracture": 0.3}


def test_chronic_findings_return() -> None:
    rng = np.random.default_rng(1)
    pairs = []
    for _ in range(1500):
        patient = draw_patient(rng)
        pairs.append([draw_case(patient, rng, prevalence=PREVALENCE, hedge_share=0.1) for _ in range(2)])
    first, second = (np.array([pair[i].has("Cardiomegaly") for pair in pairs]) for i in (0, 1))
    assert second[first].mean() > 1.8 * second.mean()


@settings(max_examples=60, deadline=None)
@given(st.sets(st.sampled_from(DRAWN)), st.integers(0, 2**32 - 1))
def test_a_case_from_labels_has_exactly_these(labels: set[str], seed: int) -> None:
    case = case_from_labels(labels, np.random.default_rng(seed))
    assert {f.label for f in case.findings} == labels
    assert not any(f.hedged for f in case.findings)
    for finding in case.findings:
        hosts = ("Lung Opacity", "Consolidation", "Pleural Effusion")  # pneumonia and atelectasis join them
        sites = {site for label in (finding.label, *hosts) for site, _ in SITES[label]}
        assert (finding.side, finding.zone, finding.kind) in sites
        assert 0 <= finding.severity <= 1


def test_uncertain_labels_become_subtle_hedged_findings() -> None:
    case = case_from_labels(["Edema"], np.random.default_rng(0), uncertain=["Pneumonia"])
    assert [f.hedged for f in case.labelled("Edema")] == [False]
    assert [f.hedged for f in case.labelled("Pneumonia")] == [True]
    assert case.labelled("Pneumonia")[0].severity <= 0.3


def test_no_finding_draws_nothing() -> None:
    assert case_from_labels(["No Finding"], np.random.default_rng(0)).findings == ()


def test_wrong_labels_are_refused() -> None:
    with pytest.raises(ValueError, match="no such observation: Scoliosis; names are"):
        case_from_labels(["Scoliosis"], np.random.default_rng(0))
    with pytest.raises(ValueError, match="positive and uncertain at once: Edema"):
        case_from_labels(["Edema"], np.random.default_rng(0), uncertain=["Edema"])
