import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import precision_recall_fscore_support

from radrl.evaluation.bootstrap import bootstrap_intervals
from radrl.evaluation.clinical_efficacy import (
    Gold,
    clinical_efficacy,
    gold_efficacy_sums,
    gold_label_rows,
    gold_of,
)
from radrl.evaluation.label_agreement import metric_name
from radrl.evaluation.paired import paired_differences
from radrl.observations import FIVE_INDEX, INDEX, NEGATIVE, OBSERVATIONS, POSITIVE

PAIR = hnp.arrays(np.int8, st.tuples(st.just(2), st.integers(1, 8), st.just(14)), elements=st.integers(0, 3))


def labels(*rows: dict[str, int]) -> np.ndarray:
    matrix = np.zeros((len(rows), len(OBSERVATIONS)), dtype=np.int8)
    for row, named in zip(matrix, rows, strict=True):
        for name, value in named.items():
            row[INDEX[name]] = value
    return matrix


REFERENCE = labels({"Cardiomegaly": 1, "Edema": 1}, {"Fracture": 1}, {"Edema": 2})
HYPOTHESIS = labels({"Cardiomegaly": 1, "Fracture": 1}, {"Fracture": 1}, {"Edema": 3})
"""Positive only: TP Cardiomegaly, Fracture; FP Fracture; FN Edema; the third pair has no positive."""


def test_micro_by_hand():
    found = clinical_efficacy(REFERENCE, HYPOTHESIS, labeler="rules").metrics
    assert found["ce_rules_micro14_precision"] == pytest.approx(2 / 3)
    assert found["ce_rules_micro14_recall"] == pytest.approx(2 / 3)
    assert found["ce_rules_micro14_f1"] == pytest.approx(2 / 3)
    # of the five only Cardiomegaly (TP) and Edema (FN) count
    assert found["ce_rules_micro5_precision"] == 1.0
    assert found["ce_rules_micro5_recall"] == 0.5


def test_macro_and_weighted_by_hand():
    found = clinical_efficacy(REFERENCE, HYPOTHESIS, labeler="rules").metrics
    # F1: Cardiomegaly 1, Edema 0, Fracture 2 / (2 + 1) = 2/3, eleven labels 0/0 = 0
    assert found["ce_rules_macro14_f1"] == pytest.approx((1 + 0 + 2 / 3) / 14)
    assert found["ce_rules_macro14_precision"] == pytest.approx((1 + 0 + 1 / 2) / 14)
    assert found["ce_rules_weighted14_f1"] == pytest.approx((1 + 0 + 2 / 3) / 3)
    assert found["ce_rules_macro5_f1"] == pytest.approx(1 / 5)


def test_sample_by_hand_is_promptmrgs_formula():
    found = clinical_efficacy(REFERENCE, HYPOTHESIS, labeler="rules").metrics
    # reports: P 1/2 R 1/2 F1 1/2; P R F1 1; 0/0 = 0
    assert found["ce_rules_sample14_f1"] == pytest.approx(1.5 / 3)
    # over the five: P 1 R 1/2 F1 2/3; 0; 0
    assert found["ce_rules_sample5_f1"] == pytest.approx(2 / 9)
    assert found["ce_rules_exact_match14"] == pytest.approx(2 / 3)


def test_uncertain_as_positive_has_its_own_names():
    found = clinical_efficacy(REFERENCE, HYPOTHESIS, labeler="rules").metrics
    # the third hypothesis now has a false positive Edema: micro TP 2, FP 2, FN 1
    assert found["ce_rules_micro14_precision_uncertain_pos"] == pytest.approx(2 / 4)
    assert found["ce_rules_exact_match14_uncertain_pos"] == pytest.approx(1 / 3)


def test_zero_division_1_counts_agreement_on_nothing_and_says_so():
    found = clinical_efficacy(REFERENCE, HYPOTHESIS, labeler="rules", zero_division=1.0).metrics
    assert found["ce_rules_sample14_f1_undefined_1"] == pytest.approx((0.5 + 1 + 1) / 3)
    assert found["ce_rules_macro14_f1_undefined_1"] == pytest.approx((1 + 0 + 2 / 3 + 11) / 14)


def test_zero_division_nan_leaves_out_what_is_undefined():
    found = clinical_efficacy(REFERENCE, HYPOTHESIS, labeler="rules", zero_division=math.nan).metrics
    assert found["ce_rules_macro14_f1_undefined_dropped"] == pytest.approx((1 + 0 + 2 / 3) / 3)
    assert found["ce_rules_macro14_precision_undefined_dropped"] == pytest.approx((1 + 1 / 2) / 2)
    assert found["ce_rules_sample14_f1_uncertain_pos_undefined_dropped"] == pytest.approx((0.5 + 1 + 0) / 3)


def test_a_weighted_mean_leaves_an_undefined_label_out_with_its_weight():
    reference = labels({"Edema": 1, "Fracture": 1}, {"Edema": 1})
    found = clinical_efficacy(
        reference, labels({"Fracture": 1}, {}), labeler="x", zero_division=math.nan
    ).metrics
    assert (
        found["ce_x_weighted14_precision_undefined_dropped"] == 1.0
    )  # Edema is never predicted: no precision
    assert found["ce_x_weighted14_recall_undefined_dropped"] == pytest.approx((2 * 0 + 1 * 1) / 3)


def test_nothing_defined_is_nan_and_no_number():
    blank = np.zeros((2, 14), int)
    found = clinical_efficacy(blank, blank, labeler="rules", zero_division=math.nan).metrics
    assert math.isnan(found["ce_rules_macro14_f1_undefined_dropped"])
    assert found["ce_rules_exact_match14_undefined_dropped"] == 1.0


def test_per_label_rows():
    rows = clinical_efficacy(REFERENCE, HYPOTHESIS, labeler="rules").per_label
    assert [row.observation for row in rows] == [*OBSERVATIONS, *OBSERVATIONS]
    fracture = rows[INDEX["Fracture"]]
    assert (fracture.support, fracture.predicted, fracture.precision, fracture.recall) == (1, 2, 0.5, 1.0)
    edema = rows[14 + INDEX["Edema"]]
    assert edema.uncertain_as_positive
    assert (edema.support, edema.predicted, edema.f1) == (1, 1, 0.0)


def test_names_cover_both_sets_readings_and_every_averaging():
    names = clinical_efficacy(REFERENCE, HYPOTHESIS, labeler="chexbert").metrics
    assert len(names) == 2 * 2 * (4 * 3 + 1) + 1  # MCCS has neither averaging nor set
    assert metric_name("chexbert", "macro", 14, "f1") in names
    assert metric_name("chexbert", "sample", 5, "recall", uncertain_as_positive=True) in names
    assert metric_name("chexbert", "exact_match", 5, None) in names


@settings(max_examples=30, deadline=None)
@given(PAIR, st.sampled_from([0.0, 1.0, math.nan]), st.booleans())
def test_agrees_with_scikit_learn(pair, zero_division, uncertain_as_positive):
    classes = [1, 3] if uncertain_as_positive else [1]
    truth, found = np.isin(pair, classes).astype(int)
    metrics = clinical_efficacy(*pair, labeler="x", zero_division=zero_division).metrics
    for size, index in ((14, range(14)), (5, FIVE_INDEX)):
        for averaging in ("micro", "macro", "weighted", "samples"):
            if averaging == "weighted" and (math.isnan(zero_division) or not truth[:, index].any()):
                continue  # where no weight is left scikit-learn takes the plain mean; ours is undefined
            expected = precision_recall_fscore_support(
                truth[:, index], found[:, index], average=averaging, zero_division=zero_division
            )[:3]
            for statistic, value in zip(("precision", "recall", "f1"), expected, strict=True):
                name = metric_name(
                    "x", averaging.rstrip("s"), size, statistic,
                    uncertain_as_positive=uncertain_as_positive, zero_division=zero_division,
                )  # fmt: skip
                np.testing.assert_allclose(metrics[name], value, atol=1e-12, err_msg=name)


@given(PAIR)
def test_every_figure_is_a_share_and_a_perfect_system_has_recall_1(pair):
    found = clinical_efficacy(*pair, labeler="x").metrics
    assert all(0 <= value <= 1 for value in found.values())
    itself = clinical_efficacy(pair[0], pair[0], labeler="x").metrics
    assert itself["ce_x_micro14_recall"] == float((pair[0] == 1).any())
    assert itself["ce_x_exact_match14"] == 1.0


def vector_cases() -> list[dict]:
    path = Path(os.environ.get("RADRL_SHARED", "")) / "vectors" / "ce_protocols.json"
    if "RADRL_SHARED" not in os.environ or not path.is_file():
        pytest.skip("no ce_protocols.json under RADRL_SHARED")
    return json.loads(path.read_text())["cases"]


def test_agrees_with_the_vectors_in_every_published_protocol():
    for case in vector_cases():
        pair, expected = (np.array(case["gt"]), np.array(case["pred"])), case["expected"]
        found = clinical_efficacy(*pair, labeler="x").metrics
        for reading, suffix in (("pos_only", ""), ("pos_plus_uncertain", "_uncertain_pos")):
            for averaging in ("micro", "macro", "weighted", "samples"):
                for size in (14, 5):
                    values = expected[f"sklearn_{averaging}_{size}_{reading}"]
                    for statistic, key in (("precision", "p"), ("recall", "r"), ("f1", "f1")):
                        name = f"ce_x_{averaging.rstrip('s')}{size}_{statistic}{suffix}"
                        assert found[name] == pytest.approx(values[key], abs=1e-12), name
            exact = expected[f"sample_exact_match_5_{reading}"]
            assert found[f"ce_x_exact_match5{suffix}"] == pytest.approx(exact)
        for statistic, value in expected["promptmrg_sample_wise_pos_only_14"].items():
            assert found[f"ce_x_sample14_{statistic.removeprefix('ce_')}"] == pytest.approx(value, abs=1e-12)
        dropped = clinical_efficacy(*pair, labeler="x", zero_division=math.nan).metrics
        for key, value in expected["nan_dropping_macro_14_pos_only_cxrmate2"].items():
            statistic = {"p": "precision", "r": "recall", "f1": "f1"}[key]
            assert dropped[f"ce_x_macro14_{statistic}_undefined_dropped"] == pytest.approx(value, abs=1e-12)


def test_refuses_what_does_not_fit():
    fourteen = np.zeros((3, 14), int)
    with pytest.raises(ValueError, match=r"hypothesis labels have shape \(3, 5\)"):
        clinical_efficacy(fourteen, np.zeros((3, 5), int), labeler="x")
    with pytest.raises(ValueError, match="3 reference rows but 2 hypothesis rows"):
        clinical_efficacy(fourteen, fourteen[:2], labeler="x")
    with pytest.raises(ValueError, match="give 0, 1 or NaN"):
        clinical_efficacy(fourteen, fourteen, labeler="x", zero_division=0.5)
    with pytest.raises(ValueError, match="at least one study"):
        clinical_efficacy(fourteen[:0], fourteen[:0], labeler="x")


def test_mccs_is_the_mean_over_reports_of_mrg_r1s_reward() -> None:
    truth, found = np.zeros((3, 14), dtype=np.int8), np.zeros((3, 14), dtype=np.int8)
    truth[:, :2], found[0, :2] = (POSITIVE, NEGATIVE), (POSITIVE, NEGATIVE)  # cosine 1
    found[1, 0] = POSITIVE  # 1 / sqrt(2)
    found[2, :2] = (NEGATIVE, POSITIVE)  # -1, which earns 0
    value = clinical_efficacy(truth, found, labeler="x").metrics["ce_x_mccs"]
    assert value == pytest.approx((1 + 0.5**0.5 + 0) / 3)


MATRICES = st.integers(1, 8).flatmap(
    lambda n: st.tuples(
        hnp.arrays(np.int8, (2, n, 14), elements=st.integers(0, 3)),
        hnp.arrays(np.bool_, (n,)).filter(np.any),
    )
)


def row(*positive: str, uncertain: tuple[str, ...] = ()) -> list[int]:
    labels = [0] * 14
    for name in positive:
        labels[INDEX[name]] = 1
    for name in uncertain:
        labels[INDEX[name]] = 3
    return labels


GOLD = gold_of([row("Edema", "Fracture"), None, row("Edema"), row(uncertain=("Edema",))])
FOUND = np.array([row("Edema"), row("Edema", "Fracture", "Pneumonia"), row("Fracture"), row("Edema")])


def test_only_studies_with_gold_labels_are_scored():
    found = gold_efficacy_sums(GOLD, FOUND, labeler="rules").values()
    # Edema: TP 1, FN 1, FP 1; Fracture: FN 1, FP 1; of the study without labels nothing
    assert found["ce_rules_gold_micro14_f1"] == pytest.approx(2 * 1 / (2 * 1 + 2 + 2))
    assert found["ce_rules_gold_macro14_f1"] == pytest.approx((2 / (2 + 1 + 1)) / 14)
    # reports: P 1, R 1/2, F1 2/3; 0; 0, nothing being positive in the fourth's gold
    assert found["ce_rules_gold_sample14_f1"] == pytest.approx((2 / 3) / 3)
    assert found["ce_rules_gold_micro14_f1_uncertain_pos"] == pytest.approx(2 * 2 / (2 * 2 + 1 + 2))
    assert found["ce_rules_gold_exact_match14_uncertain_pos"] == pytest.approx(1 / 3)


@given(MATRICES)
def test_the_metrics_are_those_of_the_studies_with_gold_labels_alone(drawn):
    (truth, found), known = drawn
    gold = Gold(np.where(known[:, None], truth, 0), known)
    alone = clinical_efficacy(truth[known], found[known], labeler="x_gold")
    assert gold_efficacy_sums(gold, found, labeler="x").values() == pytest.approx(alone.metrics)
    assert gold_label_rows(gold, found, labeler="x") == alone.per_label


def test_support_counts_gold_labels():
    edema = {
        (one.uncertain_as_positive, one.observation): one for one in gold_label_rows(GOLD, FOUND, labeler="x")
    }[False, "Edema"]
    assert (edema.support, edema.predicted, edema.recall) == (2, 2, 0.5)


def test_none_where_no_study_has_any():
    assert gold_of([None, None]) is None
    assert gold_of([]) is None


def test_rows_of_another_length_are_named():
    with pytest.raises(ValueError, match="study 1 have 3 entries; give 14"):
        gold_of([None, [0, 1, 2]])


def test_intervals_and_tests_are_had_of_the_patients_with_gold_labels():
    count = 60
    gold = gold_of([row("Edema") if i % 2 else None for i in range(count)])
    right, wrong = np.array([row("Edema")] * count), np.array([row("Fracture")] * count)
    half = np.where((np.arange(count) < 30)[:, None], right, wrong)
    patients = [f"p{i}" for i in range(count) if i % 2]
    arms = {name: gold_efficacy_sums(gold, one, labeler="x") for name, one in (("a", half), ("b", wrong))}
    interval = bootstrap_intervals(arms["a"], patients, resamples=300, seed=0)["ce_x_gold_sample14_f1"]
    assert interval.estimate == 0.5
    assert 0.2 < interval.low < 0.5 < interval.high < 0.8
    difference = paired_differences(arms["a"], arms["b"], patients, resamples=300, seed=0)
    assert difference["ce_x_gold_micro14_f1"].low > 0
    assert difference["ce_x_gold_micro14_f1"].p_randomisation < 0.05
