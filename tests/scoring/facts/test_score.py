"""FactS from verdicts to scores, by hand, and what becomes of reports that a part failed on."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.labelers.rules.labeler import RulesLabeler
from radrl.observations import BLANK, INDEX, NEGATIVE, OBSERVATIONS, POSITIVE, UNCERTAIN
from radrl.parts.find import PartError
from radrl.scoring import ScoringError
from radrl.scoring.facts import FactS, Failure, Ruling, Verdict
from radrl.scoring.facts.build import build
from radrl.scoring.facts.rules import RulesEntailment, RulesExtractor

RULES = {"extractor": "rules", "entailment": "rules", "uncertain_as_positive": False}


def labels(*rows):
    """One row a dictionary of label names and classes."""
    table = np.zeros((len(rows), len(OBSERVATIONS)), np.int8)
    for row, given_ in zip(table, rows, strict=True):
        for name, value in given_.items():
            row[INDEX[name]] = value
    return table


def score_one(hypothesis, reference, **settings):
    return build(RULES | settings).score([hypothesis], labels(reference), ["film 7"]).reports[0]


EFFUSION_AND_EDEMA = {"Pleural Effusion": POSITIVE, "Edema": POSITIVE, "Pneumothorax": NEGATIVE}


@pytest.mark.parametrize(
    ("hypothesis", "outcomes", "precision", "recall"),
    [
        ("Small effusion. Edema.", {"Pleural Effusion": "entailed", "Edema": "entailed"}, 1, 1),
        # silent on edema: missed and no more
        ("Small effusion.", {"Pleural Effusion": "entailed", "Edema": "missing"}, 1, 1 / 2),
        # edema denied: missed, and a false positive
        ("Effusion. No edema.", {"Pleural Effusion": "entailed", "Edema": "contradicted"}, 1 / 2, 1 / 2),
        # a pneumothorax that the reference denies
        (
            "Effusion. Edema. Pneumothorax.",
            {"Pleural Effusion": "entailed", "Edema": "entailed", "Pneumothorax": "unsupported"},
            2 / 3, 1,
        ),
        # denying what the reference denies is neither here nor there
        ("Effusion. Edema. No pneumothorax.", {"Pleural Effusion": "entailed", "Edema": "entailed"}, 1, 1),
        # normal where it is not: No Finding unsupported, both missed
        (
            "No acute disease.",
            {"Pleural Effusion": "missing", "Edema": "missing", "No Finding": "unsupported"}, 0, 0,
        ),
        ("", {"Pleural Effusion": "missing", "Edema": "missing"}, 0, 0),
    ],
)  # fmt: skip
def test_scores_by_hand(hypothesis, outcomes, precision, recall):
    found = score_one(hypothesis, EFFUSION_AND_EDEMA)
    assert found.outcomes == outcomes
    assert (found.precision, found.recall) == pytest.approx((precision, recall))
    # beta 1.5: 3.25 P R / (2.25 P + R)
    by_hand = 3.25 * precision * recall / (2.25 * precision + recall) if precision else 0.0
    assert found.score == pytest.approx(by_hand, abs=1e-7)
    assert found.failure is None
    assert found.id == "film 7"


def test_a_denied_finding_costs_more_than_one_left_out():
    denied, left_out = (score_one(text, EFFUSION_AND_EDEMA) for text in ("Effusion. No edema.", "Effusion."))
    assert denied.score < left_out.score


def test_no_finding():
    normal = {"No Finding": POSITIVE, "Pleural Effusion": NEGATIVE}
    assert score_one("No effusion. The lungs are clear.", normal).score == pytest.approx(1)
    abnormal = score_one("Left effusion.", normal)  # No Finding denied, an effusion claimed
    assert abnormal.outcomes == {"No Finding": "contradicted", "Pleural Effusion": "unsupported"}
    assert abnormal.score == 0
    assert score_one("", normal).outcomes == {"No Finding": "missing"}


def test_doubt_is_read_alike_on_both_sides():
    doubtful = {"Pneumonia": UNCERTAIN}
    assert score_one("Possible pneumonia.", doubtful, uncertain_as_positive=True).outcomes == {
        "Pneumonia": "entailed"
    }
    left = score_one("Possible pneumonia.", doubtful, uncertain_as_positive=False)
    assert (left.outcomes, left.score) == ({}, pytest.approx(1))  # nothing to say, nothing said
    assert score_one("Pneumonia.", doubtful).outcomes == {"Pneumonia": "unsupported"}


def test_nothing_to_say_and_nothing_said_is_worth_what_is_asked_for():
    assert score_one("Possible pneumonia.", {"Pneumonia": UNCERTAIN}, both_empty=0.0).score == 0


def test_beta_and_xi_enter():
    found = score_one("Small effusion.", EFFUSION_AND_EDEMA, beta=1.0, xi=0.5)
    assert found.score == pytest.approx(2 * 1 * 0.5 / (1 * 1 + 0.5 + 0.5))


SENTENCES = (
    "Left effusion.",
    "No effusion.",
    "Cardiomegaly.",
    "Possible pneumonia.",
    "No edema.",
    "Clear lungs.",
)


@given(picked=st.lists(st.sampled_from(SENTENCES), min_size=1).map(" ".join))
@pytest.mark.parametrize("uncertain_as_positive", [True, False])
def test_a_report_against_its_own_labels_is_perfect(picked, uncertain_as_positive):
    own = RulesLabeler().label([picked])
    scores = build(RULES | {"uncertain_as_positive": uncertain_as_positive}).score([picked], own, ["a"])
    assert scores.scores[0] == pytest.approx(1, abs=1e-6)


@given(
    text=st.lists(st.sampled_from(SENTENCES)).map(" ".join),
    row=st.lists(st.sampled_from([BLANK, POSITIVE, NEGATIVE, UNCERTAIN]), min_size=14, max_size=14),
    beta=st.floats(0.1, 10),
)
def test_scores_lie_between_0_and_1_and_zeros_are_exact(text, row, beta):
    found = build(RULES | {"beta": beta}).score([text], np.array([row]), ["a"])
    assert 0 <= found.scores[0] <= 1
    outcomes = found.reports[0].outcomes.values()
    assert (found.scores[0] == 0) == (bool(outcomes) and "entailed" not in outcomes)


def test_rules_do_not_go_by_the_papers_name():
    assert build(RULES).name == "facts_rules"
    about = build(RULES).about
    assert about["extractor"] == about["entailment"] == "rules"
    assert (about["beta"], about["uncertain_as_positive"]) == ("1.5", "False")


class FailingExtractor(RulesExtractor):
    """Fails on texts that say so."""

    def extract(self, reports):
        return [
            Failure("the answer is cut off") if "FAIL" in text else own
            for text, own in zip(reports, super().extract(reports), strict=True)
        ]


class FailingEntailment(RulesEntailment):
    """Fails on facts about fractures, and remembers what it was asked."""

    def entail(self, facts, reports=()):
        self.asked = facts
        return [
            Failure("no JSON") if any("fracture" in fact for fact in own) else rulings
            for own, rulings in zip(facts, super().entail(facts), strict=True)
        ]


REPORTS = ["Effusion.", "FAIL.", "Fracture.", "No edema."]
IDS = ["a", "b", "c", "d"]


def failing(missing):
    return FactS(FailingExtractor(), FailingEntailment(uncertain_as_positive=False), missing=missing)


def test_a_failure_raises_with_the_reports_id_and_reason():
    table = labels(*[EFFUSION_AND_EDEMA] * 4)
    said = r"report b has no facts_rules score: no facts, the answer is cut off \(2 of 4 reports have none\)"
    with pytest.raises(ScoringError, match=said):
        failing("raise").score(REPORTS, table, IDS)
    with pytest.raises(ScoringError, match=r"report c has .*: no verdicts, no JSON \(1 of 3"):
        failing("raise").score(REPORTS[::2] + REPORTS[:1], table[:3], ["a", "c", "d"])


def test_a_failure_that_may_be_skipped_is_no_number_and_never_0():
    facts = failing("skip")
    found = facts.score(REPORTS, labels(*[EFFUSION_AND_EDEMA] * 4), IDS)
    assert [math.isnan(score) for score in found.scores] == [False, True, True, False]
    assert [one.failure for one in found.reports] == [
        None, "no facts, the answer is cut off", "no verdicts, no JSON", None
    ]  # fmt: skip
    broken = found.reports[2]
    assert math.isnan(broken.precision)
    assert math.isnan(broken.recall)
    assert math.isnan(broken.score)
    assert (broken.facts, broken.rulings, broken.outcomes) == (("fracture",), (), {})
    assert found.reports[3].rulings[INDEX["Edema"]] == Ruling(Verdict.CONTRADICTED, (0,))
    assert len(facts.entailment.asked) == 3  # what had no facts was not asked about
    # the others score as if alone
    alone = build(RULES).score(REPORTS[::3], labels(*[EFFUSION_AND_EDEMA] * 2), ["a", "d"])
    np.testing.assert_array_equal(found.scores[::3], alone.scores)


def test_failures_alone_are_no_scores():
    with pytest.raises(ScoringError, match=r"\(2 of 2 reports have none\)"):
        failing("skip").score(["FAIL", "FAIL"], labels({}, {}), ["a", "b"])


def test_no_reports_have_no_scores():
    found = build(RULES).score([], labels(), [])
    assert found.scores.shape == (0,)
    assert found.reports == []


def test_what_does_not_fit_is_refused():
    facts = build(RULES)
    with pytest.raises(ValueError, match=r"1 reports, 1 ids and labels of shape \(2, 14\)"):
        facts.score(["a"], labels({}, {}), ["a"])
    with pytest.raises(ValueError, match="1 reports, 2 ids"):
        facts.score(["a"], labels({}), ["a", "b"])
    with pytest.raises(ValueError, match="class indices"):
        facts.score(["a"], labels({"Edema": 5}), ["a"])
    with pytest.raises(ValueError, match="valid: raise, skip"):
        build(RULES | {"missing": "zero"})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"extractor": "gpt"}, r"no extractor 'gpt'\. There are rules, judge"),
        ({"entailment": None}, "no entailment 'None'"),
        ({"entailment": "judge"}, "facts.entailment is judge, but facts.judge is not set"),
        ({"extractor": "judge", "judge": {"backend": "gpt"}}, r"no judge 'gpt'\. There are endpoint, folder"),
    ],
)
def test_unknown_and_missing_parts_are_refused(change, message):
    with pytest.raises((PartError, ScoringError), match=message):
        build(RULES | change)


def test_missing_settings_are_named():
    with pytest.raises(ScoringError, match="facts lacks entailment, uncertain_as_positive"):
        build({"extractor": "rules"})
