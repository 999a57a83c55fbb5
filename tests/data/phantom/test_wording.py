from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radrl.data.phantom import phrases
from radrl.data.phantom.findings import (
    DRAWN,
    PREVALENCE,
    SITES,
    Case,
    Finding,
    case_from_labels,
    draw_case,
    draw_patient,
)
from radrl.data.phantom.report import Report, Sentence, print_section
from radrl.data.phantom.wording import (
    WORDS,
    Boilerplate,
    check_words,
    reword,
    write_report,
)
from radrl.labelers.rules.labeler import RulesLabeler
from radrl.observations import BLANK, INDEX, NEGATIVE, NO_FINDING, OBSERVATIONS, POSITIVE, UNCERTAIN


def case_of(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    return draw_case(draw_patient(rng), rng, prevalence=PREVALENCE, hedge_share=0.2)


def report_of(case: Case, seed: int = 0, words: tuple[int, int] = WORDS) -> Report:
    return write_report(case, np.random.default_rng(seed), lateral=False, prior=False, words=words)


def length(report: Report) -> int:
    return sum(len(sentence.text.split()) for sentence in report.findings)


def told(report: Report, label: str) -> str:
    return " ".join(s.text for s in report.findings if label in dict(s.states))


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_gold_is_what_the_case_has(seed: int) -> None:
    case = case_of(seed)
    report = report_of(case, seed)
    gold = report.gold()
    for label in DRAWN:
        expected = {UNCERTAIN if f.hedged else POSITIVE for f in case.labelled(label)} or {BLANK, NEGATIVE}
        assert gold[INDEX[label]] in expected
    normal = all(f.label == "Support Devices" for f in case.findings)
    other = any(s.text in phrases.OTHER_FINDINGS for s in report.findings)
    assert gold[NO_FINDING] == (POSITIVE if normal and not other else BLANK)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_impression_adds_nothing_to_the_findings(seed: int) -> None:
    report = report_of(case_of(seed), seed)
    assert Report(report.findings, ()).gold() == report.gold()
    stated = {pair for s in report.findings for pair in s.states}
    assert all(set(s.states) <= stated for s in report.impression)


def test_gold_takes_positive_before_uncertain_before_negative() -> None:
    def sentence(value: int) -> Sentence:
        return Sentence("", (("Edema", value),))

    everything = Report((sentence(NEGATIVE), sentence(UNCERTAIN)), (sentence(POSITIVE),))
    assert everything.gold()[INDEX["Edema"]] == POSITIVE
    assert replace(everything, impression=()).gold()[INDEX["Edema"]] == UNCERTAIN
    assert everything.gold()[NO_FINDING] == BLANK
    denied = Report((sentence(NEGATIVE), Sentence("", (("Support Devices", POSITIVE),))), ())
    assert [OBSERVATIONS[i] for i, c in enumerate(denied.gold()) if c == POSITIVE] == [
        "Support Devices",
        "No Finding",
    ]


def test_gold_withholds_no_finding_where_another_finding_is_told() -> None:
    normal = replace(case_of(0), findings=())
    reports = [report_of(normal, seed) for seed in range(40)]
    told = [any("degenerative" in s.text for s in report.findings) for report in reports]
    assert {True, False} == set(told)
    assert [report.gold()[NO_FINDING] == BLANK for report in reports] == told


def test_the_other_findings_are_those_that_the_labeler_reads() -> None:
    stock = [*phrases.BOILERPLATE, phrases.TORTUOUS, *phrases.IMPRESSION_NORMAL, *phrases.CLEAR_LUNGS]
    read = {text for text, row in zip(stock, RulesLabeler().label(stock), strict=True) if not row[NO_FINDING]}
    assert read == phrases.OTHER_FINDINGS


def test_further_stock_sentences_state_nothing_to_the_labeler() -> None:
    rows = RulesLabeler().label(list(phrases.MORE_BOILERPLATE))
    assert {tuple(row) for row in np.asarray(rows).tolist()} == {(*[BLANK] * NO_FINDING, POSITIVE)}
    assert len({*phrases.MORE_BOILERPLATE, *phrases.BOILERPLATE}) == 38 + 11


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.sampled_from(["usual", "more"]))
def test_a_reworded_report_states_the_same_with_other_stock_sentences(
    seed: int, draw: int, boilerplate: Boilerplate
) -> None:
    case, rng = case_of(seed), np.random.default_rng(seed)
    report = write_report(case, rng, lateral=False, prior=False, words=(50, 90), boilerplate=boilerplate)
    other = reword(report, case, np.random.default_rng(draw), boilerplate)
    assert other.gold() == report.gold()
    assert other.impression == report.impression
    assert len(other.findings) == len(report.findings)
    stock = {*phrases.BOILERPLATE, *phrases.MORE_BOILERPLATE, phrases.TORTUOUS}
    for one, before in zip(other.findings, report.findings, strict=True):
        assert one == before or {one.text, before.text} <= stock
    assert not (case.has("Fracture") and phrases.BONES & {one.text for one in other.findings})
    assert len({one.text for one in other.findings}) == len({one.text for one in report.findings})
    if boilerplate == "more":  # in one order, so that the likeliest next sentence is not the one before
        in_order = [*phrases.BOILERPLATE, *phrases.MORE_BOILERPLATE, phrases.TORTUOUS]
        for of in (report, other):
            told = [in_order.index(one.text) for one in of.findings if one.text in stock]
            assert told == sorted(told)


@pytest.mark.parametrize("hedged", [False, True])
@pytest.mark.parametrize("label", DRAWN)
def test_every_site_and_grade_can_be_worded(label: str, hedged: bool) -> None:
    for site, _ in SITES[label]:
        for severity in (0.0, 0.2, 0.5, 0.9):
            finding = Finding(label, *site, severity, hedged and label != "Support Devices", 1)
            case = replace(case_from_labels([], np.random.default_rng(0)), findings=(finding,))
            for seed in range(12):
                report = report_of(case, seed)
                for sentence in report.findings + report.impression:
                    assert re.fullmatch(r"[A-Z0-9][A-Za-z0-9 ,_-]*\.", sentence.text), sentence.text
                    assert "  " not in sentence.text
                assert told(report, label)


@pytest.mark.parametrize(
    "label", ["Pneumothorax", "Pleural Effusion", "Lung Lesion", "Fracture", "Atelectasis"]
)
@pytest.mark.parametrize("side", ["right", "left"])
def test_the_side_is_said(label: str, side: str) -> None:
    site = next(site for site, _ in SITES[label] if site[0] == side)
    finding = Finding(label, *site, 0.5, False, 1)
    case = replace(case_from_labels([], np.random.default_rng(0)), findings=(finding,))
    for seed in range(20):
        words = set(re.findall(r"[a-z]+", told(report_of(case, seed), label).lower()))
        assert side in words
        assert not words & {"right", "left", "bilateral"} - {side}


@pytest.mark.parametrize(("severity", "word"), [(0.2, "small"), (0.5, "moderate"), (0.9, "large")])
def test_the_grade_is_said(severity: float, word: str) -> None:
    finding = Finding("Pleural Effusion", "left", "base", "", severity, False, 1)
    case = replace(case_from_labels([], np.random.default_rng(0)), findings=(finding,))
    assert all(word in told(report_of(case, seed), "Pleural Effusion").lower() for seed in range(20))


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_filled_lungs_are_not_called_clear_or_free_of_consolidation(seed: int) -> None:
    case = case_of(seed)
    text = " ".join(s.text for s in report_of(case, seed).findings)
    if any(case.has(label) for label in ("Lung Opacity", "Consolidation", "Pneumonia")):
        assert "clear" not in text
        assert not re.search(r"[Nn]o [^.]*(consolidation|opacity)", text)


def test_findings_have_the_length_of_real_ones() -> None:
    words = [length(report_of(case_of(seed), seed)) for seed in range(400)]
    assert 42 <= np.median(words) <= 54
    assert np.mean([32 <= count <= 65 for count in words]) > 0.9


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 30))
def test_findings_are_filled_to_the_least_length_and_state_the_same(seed: int, low: int, more: int) -> None:
    case = case_of(seed)
    report = report_of(case, seed, (low, low + more))
    assert length(report) >= low
    longer = report_of(case, seed, (low + 20, low + 20 + more)).gold()
    assert report.gold()[:NO_FINDING] == longer[:NO_FINDING]


def test_a_longer_range_makes_longer_reports() -> None:
    ranges = [(18, 32), (32, 54), (60, 80)]
    medians = [np.median([length(report_of(case_of(s), s, words)) for s in range(100)]) for words in ranges]
    assert medians == sorted(set(medians))


@pytest.mark.parametrize("words", [(5, 5), (6, 5), (0, 5), (5,), (1, 2, 3)])
def test_a_range_without_a_length_is_refused(words: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"words must be \[low, high\] with 1 <= low < high, got \["):
        check_words(words)


def test_phrases_vary() -> None:
    case = case_from_labels(["Pleural Effusion"], np.random.default_rng(0))
    assert len({told(report_of(case, seed), "Pleural Effusion") for seed in range(60)}) >= 5


def test_the_wording_is_drawn_from_its_generator_alone() -> None:
    case = case_of(7)
    assert report_of(case, 3) == report_of(case, 3)
    assert report_of(case, 3) != report_of(case, 4)


def test_typing_habits_change_the_looks_and_not_the_words() -> None:
    sentences = (Sentence("Small left pleural effusion."), Sentence("No pneumothorax."))
    printed = {print_section(sentences, np.random.default_rng(seed), numbered=True) for seed in range(200)}
    bare = {re.sub(r"\d\. ", "", " ".join(text.lower().split())) for text in printed}
    assert bare == {"small left pleural effusion. no pneumothorax."}
    assert {
        "SMALL LEFT PLEURAL EFFUSION. NO PNEUMOTHORAX.",
        "Small left pleural effusion. No pneumothorax.",
    } <= printed
    assert any(text.startswith("1. ") for text in printed)
