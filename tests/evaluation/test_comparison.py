import numpy as np
import pytest

from radrl.evaluation import mean_metrics
from radrl.evaluation.baselines import every_label_positive
from radrl.evaluation.clinical_efficacy import clinical_efficacy_sums
from radrl.evaluation.comparison import compare, drawn_alike, pair_errors
from radrl.evaluation.paired import holm

PATIENTS = [f"p{i // 2}" for i in range(120)]


def noisy(rng: np.random.Generator, truth: np.ndarray, miss: float) -> np.ndarray:
    return np.where(rng.random(truth.shape) < miss, 0, truth)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    truth = (rng.random((120, 14)) < 0.25).astype(int)
    labels = {
        "sft": noisy(rng, truth, 0.6),
        "grpo": noisy(rng, truth, 0.2),
        "twin": noisy(rng, truth, 0.6),
        "all_positive": every_label_positive(120),
        "reference": truth,
    }
    arms = {arm: clinical_efficacy_sums(truth, own, labeler="x") for arm, own in labels.items()}
    return compare(arms, PATIENTS, reference="sft", trivial=["all_positive"], resamples=300, seed=0)


def one(rows, arm, metric="ce_x_macro14_f1"):
    (row,) = [row for row in rows if (row.arm, row.metric) == (arm, metric)]
    return row


def test_a_row_for_every_arm_and_metric_in_the_given_order(rows):
    assert list(dict.fromkeys(row.arm for row in rows)) == [
        "sft",
        "grpo",
        "twin",
        "all_positive",
        "reference",
    ]
    assert len(rows) == 5 * 53


def test_the_better_arm_is_found_and_the_twin_is_not(rows):
    assert one(rows, "grpo").difference.low > 0
    assert one(rows, "grpo").p_holm < 0.05
    assert one(rows, "twin").p_holm > 0.05


def test_the_reference_arm_has_no_difference(rows):
    assert one(rows, "sft").difference is None
    assert one(rows, "sft").p_holm is None


def test_holm_runs_over_arms_within_a_metric_and_leaves_trivial_rows_out(rows):
    family = ["grpo", "twin", "reference"]
    expected = holm([one(rows, arm).difference.p_bootstrap for arm in family])
    assert [one(rows, arm).p_holm for arm in family] == expected
    assert one(rows, "all_positive").p_holm is None
    assert one(rows, "all_positive").trivial


def test_family_wise_error_over_arms_is_the_level():
    """Six arms of equal worth, studies grouped by patient: a false alarm is any arm told from the first."""
    rng = np.random.default_rng(2)
    plain = corrected = 0
    for sim in range(200):
        difficulty = np.repeat(rng.normal(size=60), 2)
        arms = {
            name: mean_metrics({"m": difficulty + np.repeat(rng.normal(size=60), 2) + rng.normal(size=120)})
            for name in "abcdef"
        }
        rows = compare(arms, PATIENTS, reference="a", resamples=200, seed=sim)
        plain += any(row.difference is not None and row.difference.p_bootstrap < 0.05 for row in rows)
        corrected += any(row.p_holm is not None and row.p_holm < 0.05 for row in rows)
    assert corrected / 200 <= 0.095  # 3 standard errors above 5 %
    assert plain / 200 > 0.12  # without Holm: this test can fail


def test_an_arm_that_a_trivial_row_beats_is_marked(rows):
    assert one(rows, "sft", "ce_x_micro14_recall").beaten_by == ("all_positive",)
    assert one(rows, "sft", "ce_x_micro14_precision").beaten_by == ()
    assert one(rows, "reference", "ce_x_micro14_recall").beaten_by == ()


def test_same_seed_same_rows():
    arms = {"a": mean_metrics({"m": [1.0, 2.0, 3.0]}), "b": mean_metrics({"m": [2.0, 2.0, 3.5]})}
    first = compare(arms, ["p", "q", "r"], reference="a", resamples=50, seed=1)
    assert first == compare(arms, ["p", "q", "r"], reference="a", resamples=50, seed=1)


def test_an_unknown_arm_is_named():
    with pytest.raises(ValueError, match="no such arm: base; arms: a"):
        compare({"a": mean_metrics({"m": [1.0]})}, ["p"], reference="base", seed=0)


PAIRED_PATIENTS = [f"p{i // 2}" for i in range(200)]


@pytest.fixture(scope="module")
def arms():
    rng = np.random.default_rng(3)
    shared = rng.random(200)
    values = {
        "sft": shared,
        "grpo": shared + 0.1 * rng.random(200),
        "shifted": shared + 0.25,
        "other": rng.random(200),
    }
    return {arm: mean_metrics({"f1": own}) for arm, own in values.items()}


@pytest.fixture(scope="module")
def drawn(arms):
    return drawn_alike(arms, PAIRED_PATIENTS, resamples=2000, seed=0)


def test_each_pair_stands_once_in_the_order_of_the_arms(drawn):
    pairs = [(pair.arm, pair.other) for pair in pair_errors(drawn)]
    assert pairs == [
        ("sft", "grpo"),
        ("sft", "shifted"),
        ("sft", "other"),
        ("grpo", "shifted"),
        ("grpo", "other"),
        ("shifted", "other"),
    ]


def test_two_arms_that_differ_by_a_constant_have_no_error(drawn):
    assert error(drawn, "sft", "shifted") == pytest.approx(0, abs=1e-12)
    assert error(drawn, "grpo", "shifted") == pytest.approx(error(drawn, "sft", "grpo"))


def test_the_error_is_that_of_the_mean_over_patients(arms, drawn):
    gains = (arms["other"].per_study - arms["sft"].per_study)[:, 0].reshape(100, 2).mean(axis=1)
    assert error(drawn, "sft", "other") == pytest.approx(gains.std() / 10, rel=0.05)


def test_it_is_what_the_comparison_s_interval_is_made_of(arms, drawn):
    row = next(
        row
        for row in compare(arms, PAIRED_PATIENTS, reference="sft", resamples=2000, seed=0, drawn=drawn)
        if row.arm == "other"
    )
    width = row.difference.high - row.difference.low
    assert error(drawn, "sft", "other") == pytest.approx(width / (2 * 1.96), rel=0.05)


def error(drawn, arm, other):
    (found,) = [pair.error for pair in pair_errors(drawn) if (pair.arm, pair.other) == (arm, other)]
    return found
