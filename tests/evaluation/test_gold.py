import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from radrl.evaluation.bootstrap import bootstrap_intervals
from radrl.evaluation.clinical_efficacy import clinical_efficacy
from radrl.evaluation.gold import Gold, gold_efficacy_sums, gold_label_rows, gold_of
from radrl.evaluation.paired import paired_differences
from radrl.observations import INDEX

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
    arms = {name: [gold_efficacy_sums(gold, one, labeler="x")] for name, one in (("a", half), ("b", wrong))}
    interval = bootstrap_intervals(arms["a"], patients, resamples=300, seed=0)["ce_x_gold_sample14_f1"]
    assert interval.estimate == 0.5
    assert 0.2 < interval.low < 0.5 < interval.high < 0.8
    difference = paired_differences(arms["a"], arms["b"], patients, resamples=300, seed=0)
    assert difference["ce_x_gold_micro14_f1"].low > 0
    assert difference["ce_x_gold_micro14_f1"].p_randomisation < 0.05
