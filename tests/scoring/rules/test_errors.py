"""GREEN's error categories by rules: each by hand, what must change nothing, and the scorer."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.evaluation.green import ERRORS, GreenCounts, score
from radrl.scoring import Scorer
from radrl.scoring.rules.errors import GreenRules, count_errors

NORMAL = "Heart size is normal. The lungs are clear. No pleural effusion or pneumothorax."
SICK = "Moderate cardiomegaly. Small left pleural effusion, unchanged. No pneumothorax."

# reference, candidate, matched findings, errors by kind
PAIRS = [
    # heart, lungs, effusion and pneumothorax denied by both, and both normal
    (NORMAL, NORMAL, 5, {}),
    (SICK, SICK, 3, {}),
    # (a) the candidate adds, or asserts what the reference denies
    (SICK, SICK + " Right upper lobe nodule.", 3, {"false_finding": 1}),
    (NORMAL, NORMAL.replace("No pleural", "Small pleural"), 2, {"false_finding": 2}),
    # (b) it leaves out, or denies what the reference asserts
    (SICK, "Moderate cardiomegaly. No pneumothorax.", 2, {"missing_finding": 1}),
    (SICK, "Moderate cardiomegaly. No pleural effusion or pneumothorax.", 2, {"missing_finding": 1}),
    # (c) another side, or places that exclude each other
    (SICK, SICK.replace("left", "right"), 2, {"wrong_location": 1}),
    (SICK, SICK.replace("left pleural effusion", "bilateral pleural effusions"), 2, {"wrong_location": 1}),
    ("Left upper lobe mass.", "Left lower lobe mass.", 0, {"wrong_location": 1}),
    ("Fracture of a right rib.", "Fracture of the right clavicle.", 0, {"wrong_location": 1}),
    # (d) another severity
    (SICK, SICK.replace("Moderate", "Mild"), 2, {"wrong_severity": 1}),
    (SICK, SICK.replace("Small left", "Large right"), 2, {"wrong_location": 1, "wrong_severity": 1}),
    # (e) a comparison of its own, or the other way
    ("Left effusion.", "Worsening left effusion.", 1, {"false_comparison": 1}),
    ("Left effusion.", "Unchanged left effusion.", 1, {"false_comparison": 1}),
    ("Left effusion is larger.", "Left effusion is smaller.", 1, {"false_comparison": 1}),
    ("Left effusion.", "Left effusion. No interval change.", 1, {"false_comparison": 1}),
    # (f) a change left out
    ("Worsening left effusion.", "Left effusion.", 1, {"missing_comparison": 1}),
    ("Effusion has resolved.", "No effusion.", 2, {"missing_comparison": 1}),
    ("New nodule.", "Nodule.", 1, {"missing_comparison": 1}),
    ("Left effusion. Interval improvement.", "Left effusion.", 1, {"missing_comparison": 1}),
    # no error: an "unchanged" left out, a comparison of the whole study, what only one report specifies
    (SICK, SICK.replace(", unchanged", ""), 3, {}),
    ("Unchanged left effusion.", "Left effusion. No interval change.", 1, {}),
    (SICK, SICK.replace("Small left", ""), 3, {}),
    (SICK, SICK + " The lungs are clear.", 3, {}),
    # no error: suspected for sure, places used for each other, trace for small
    ("Left basilar atelectasis.", "Possible left lower lobe atelectasis.", 1, {}),
    ("Trace left effusion.", "Small left effusion.", 1, {}),
    ("Mild to moderate edema.", "Moderate edema.", 1, {}),
    # names for each other, where neither has its own
    ("Left basilar opacity.", "Left lower lobe consolidation.", 1, {}),
    ("No focal consolidation.", "No focal airspace opacity.", 2, {}),
    ("Consolidation.", "Opacity without consolidation.", 0, {"missing_finding": 1, "false_finding": 1}),
    # a place is judged where it is said: the pneumonia's is the opacity's
    (
        "Left base opacity suggests pneumonia. No effusion.",
        "Right base opacity suggests pneumonia. No effusion.",
        2,
        {"wrong_location": 1},
    ),
    # what a report says twice counts once, and an assertion before a denial
    (SICK, SICK + " " + SICK, 3, {}),
    ("Left effusion. Right effusion.", "Bilateral effusions.", 1, {}),
    # two normal reports in other words agree in that; a device is no disease
    ("The lungs are clear.", "No pneumothorax.", 1, {}),
    ("Right PICC. The lungs are clear.", "No pneumothorax.", 1, {"missing_finding": 1}),
    # nothing to compare
    ("", "", 0, {}),
    (NORMAL, "", 0, {}),
    (SICK, "The patient is rotated.", 0, {"missing_finding": 2}),
]


@pytest.mark.parametrize(("reference", "candidate", "matched", "errors"), PAIRS)
def test_by_hand(reference, candidate, matched, errors):
    counts = count_errors(reference, candidate)
    found = {kind: n for kind, n in zip(ERRORS, counts.errors, strict=True) if n}
    assert (counts.matched, found) == (matched, errors)


def test_every_category_has_its_pair():
    assert {kind for *_, errors in PAIRS for kind in errors} == set(ERRORS)


PARAPHRASES = [
    ("The heart is enlarged.", "Cardiomegaly."),
    ("Heart size is within normal limits.", "The cardiac silhouette is not enlarged."),
    ("There is a small right pleural effusion.", "Small amount of pleural fluid on the right."),
    ("The lungs are clear.", "Clear lungs bilaterally."),
    ("No acute bony abnormality.", "The osseous structures are intact."),
    ("Bibasilar atelectasis.", "Atelectasis at both lung bases."),
    ("The effusion has increased.", "The effusion is larger than before."),
    ("Tiny left apical pneumothorax.", "Minimal pneumothorax at the left apex."),
    ("Right lower lobe pneumonia.", "Pneumonia in the lower lobe of the right lung."),
    ("Low lung volumes.", "The lungs are hypoinflated."),
    ("No free air.", "There is no pneumoperitoneum."),
    ("The aorta is tortuous.", "Tortuosity of the thoracic aorta."),
]


def test_paraphrases_agree():
    for one, other in PARAPHRASES:
        counts = count_errors(one, other)
        assert (counts.matched > 0, sum(counts.errors)) == (True, 0), (one, other)


SENTENCES = [sentence for pair in PARAPHRASES for sentence in pair]
REPORT = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=8).map(" ".join)


@given(REPORT, REPORT)
def test_exchanging_the_reports_exchanges_the_errors(reference, candidate):
    there, back = count_errors(reference, candidate), count_errors(candidate, reference)
    a, b, c, d, *_ = there.errors
    assert (there.matched, (b, a, c, d)) == (back.matched, back.errors[:4])


@given(REPORT, st.randoms(use_true_random=False))
def test_order_changes_nothing(report, rng):
    sentences = report.split(". ")
    shuffled = ". ".join(rng.sample(sentences, len(sentences)))
    assert score(count_errors(report, shuffled)) == 1


@given(st.text(), st.text())
def test_any_text_can_be_compared(reference, candidate):
    counts = count_errors(reference, candidate)
    assert min(counts.matched, *counts.errors) >= 0
    same = count_errors(candidate, candidate)
    assert sum(same.errors) == 0


@pytest.mark.skipif(
    not (Path(os.environ.get("RADRL_SHARED", "")) / "vectors" / "green_parsing.json").is_file(),
    reason="no green_parsing.json under RADRL_SHARED",
)
def test_the_formula_is_greens():
    path = Path(os.environ["RADRL_SHARED"]) / "vectors" / "green_parsing.json"
    for case in json.loads(path.read_text())["cases"]:
        *errors, matched = case["sig_counts_plus_matched"]
        assert score(GreenCounts(tuple(errors), matched)) == pytest.approx(case["green"])


def test_the_scorer_keeps_its_promises():
    references, hypotheses = [pair[0] for pair in PAIRS], [pair[1] for pair in PAIRS]
    scorer: Scorer = GreenRules(cache_size=3)
    scores = scorer.score(references, hypotheses)
    counts = [f"green_rules_{kind}" for kind in ("matched", *ERRORS)]
    assert list(scores.corpus) == ["green_rules", *counts]
    for name, values in scores.per_report.items():
        assert scores.corpus[name] == pytest.approx(values.mean())
    assert scores.summed.values() == pytest.approx(scores.corpus)
    # the first pair: 5 matched; the third: 3 matched, 1 false finding
    assert scores.per_report["green_rules"][[0, 2]].tolist() == [1, 0.75]
    assert scores.per_report["green_rules_false_finding"][2] == 1
    uncached = GreenRules(cache_size=0).score(references, hypotheses)
    np.testing.assert_equal(uncached.per_report, scores.per_report)


def test_identical_reports_score_1_and_reports_without_findings_0():
    rng = random.Random(1)
    reports = [" ".join(rng.sample(SENTENCES, 5)) for _ in range(20)] + ["", "PA view of the chest."]
    values = GreenRules().score(reports, reports).per_report["green_rules"]
    assert values.tolist() == [1] * 20 + [0, 0]


def test_unpaired_reports_are_refused():
    with pytest.raises(ValueError, match="1 references, 2 hypotheses"):
        GreenRules().score(["a"], ["a", "b"])
