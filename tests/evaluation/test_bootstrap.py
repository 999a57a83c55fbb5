import numpy as np
import pytest

from radrl.evaluation import mean_metrics
from radrl.evaluation.bootstrap import bootstrap_intervals, patient_groups, sums_by_patient
from radrl.evaluation.clinical_efficacy import clinical_efficacy_sums


def clustered(rng: np.random.Generator, patients: int = 40, studies: int = 4) -> np.ndarray:
    """Values of mean 0 in which a patient's studies share a common part; shape (patients * studies,)."""
    return (rng.normal(size=(patients, 1)) + 0.5 * rng.normal(size=(patients, studies))).reshape(-1)


NAMES = [f"p{i // 4:02d}" for i in range(160)]


def test_groups_and_sums_by_patient_by_hand():
    groups = patient_groups(["b", "a", "b"])
    assert groups.tolist() == [1, 0, 1]
    assert sums_by_patient(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), groups).tolist() == [
        [3, 4],
        [6, 8],
    ]


def test_a_study_without_a_patient_is_named():
    with pytest.raises(ValueError, match="study 1 has no patient"):
        patient_groups(["a", ""])


def test_same_seed_same_interval_and_other_seed_another():
    metrics = mean_metrics({"m": clustered(np.random.default_rng(0))})
    first = bootstrap_intervals(metrics, NAMES, seed=5)
    assert first == bootstrap_intervals(metrics, NAMES, seed=5)
    assert first != bootstrap_intervals(metrics, NAMES, seed=6)


def test_resampling_equals_scoring_the_drawn_studies_anew():
    """A resample through sums against clinical efficacy computed from the drawn rows themselves."""
    rng = np.random.default_rng(2)
    reference, hypothesis = rng.integers(0, 4, (2, 30, 14))
    drawn = rng.integers(0, 30, 30)
    family = clinical_efficacy_sums(reference, hypothesis, labeler="x")
    through_sums = family.of_sums(np.bincount(drawn, minlength=30) @ family.per_study)
    anew = clinical_efficacy_sums(reference[drawn], hypothesis[drawn], labeler="x").values()
    assert {name: float(value) for name, value in through_sums.items()} == pytest.approx(anew)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_interval_covers_the_truth_as_often_as_it_says_when_grouped_by_patient(method):
    rng = np.random.default_rng(0)
    grouped = alone = 0
    each_alone = [str(i) for i in range(160)]
    for sim in range(300):
        metrics = mean_metrics({"m": clustered(rng)})
        found = bootstrap_intervals(metrics, NAMES, resamples=200, method=method, seed=sim)["m"]
        grouped += found.low <= 0 <= found.high
        found = bootstrap_intervals(metrics, each_alone, resamples=200, method=method, seed=sim)["m"]
        alone += found.low <= 0 <= found.high
    # 95 % less the percentile method's small-sample loss at 40 patients; 3 standard errors are 0.04
    assert 0.88 <= grouped / 300 <= 0.985
    assert alone / 300 < 0.8  # what ignoring patients would cost: this test can fail


def test_interval_of_a_ratio_metric_covers_the_truth():
    """Micro F1 of a labeler that finds 70 % of positives (prevalence 0.2) with 5 % false alarms.

    Expected counts a cell: TP 0.14, FN 0.06, FP 0.04, so F1 = 0.28 / 0.38.
    """
    rng = np.random.default_rng(1)
    inside = 0
    for sim in range(200):
        truth = rng.random((80, 14)) < 0.2
        found = np.where(truth, rng.random((80, 14)) < 0.7, rng.random((80, 14)) < 0.05)
        family = clinical_efficacy_sums(truth.astype(int), found.astype(int), labeler="x")
        name = "ce_x_micro14_f1"
        interval = bootstrap_intervals(family, [str(i) for i in range(80)], resamples=200, seed=sim)[name]
        inside += interval.low <= 0.28 / 0.38 <= interval.high
    assert 0.89 <= inside / 200 <= 0.99


def test_bca_follows_skewness():
    values = np.random.default_rng(3).exponential(size=60) ** 2
    arguments = (mean_metrics({"m": values}), [str(i) for i in range(60)])
    plain = bootstrap_intervals(*arguments, method="percentile", seed=0)["m"]
    bca = bootstrap_intervals(*arguments, method="bca", seed=0)["m"]
    assert bca.low > plain.low
    assert bca.high > plain.high


def test_bca_covers_macro_averages_of_rare_labels_better_than_percentiles():
    """A labeler that finds 70 % of the cases and nothing else: F1 = 1.4 / 1.7 for every label.

    With 8 cases a label some resamples hold few, which pulls the percentiles down.
    """
    rng = np.random.default_rng(7)
    inside = {"percentile": 0, "bca": 0}
    names = [str(i) for i in range(80)]
    for sim in range(100):
        truth = rng.random((80, 14)) < 0.1
        found = truth & (rng.random((80, 14)) < 0.7)
        family = clinical_efficacy_sums(truth.astype(int), found.astype(int), labeler="x")
        for method in inside:
            interval = bootstrap_intervals(family, names, resamples=200, method=method, seed=sim)
            macro = interval["ce_x_macro14_f1"]
            inside[method] += macro.low <= 1.4 / 1.7 <= macro.high
    assert inside["bca"] >= 88
    assert inside["percentile"] <= inside["bca"] - 4


def test_an_undefined_resample_leaves_no_interval():
    reference, hypothesis = np.zeros((2, 6, 14), int)
    reference[0, 1] = hypothesis[0, 1] = 1  # one case alone: it is missing from some resamples
    family = clinical_efficacy_sums(reference, hypothesis, labeler="x", zero_division=float("nan"))
    for method in ("percentile", "bca"):
        found = bootstrap_intervals(family, list("abcdef"), method=method, seed=0)
        interval = found["ce_x_micro14_f1_undefined_dropped"]
        assert interval.estimate == 1.0
        assert np.isnan([interval.low, interval.high]).all()


def test_a_constant_metric_has_an_interval_of_no_width():
    for method in ("percentile", "bca"):
        found = bootstrap_intervals(
            mean_metrics({"m": [0.25] * 5}), list("abcde"), method=method, resamples=50, seed=0
        )["m"]
        assert (found.low, found.estimate, found.high) == (0.25, 0.25, 0.25)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"method": "t"}, "valid: percentile, bca"),
        ({"level": 95.0}, "level"),
        ({"resamples": 0}, "0 resamples"),
    ],
)
def test_refuses_options_out_of_range(wrong, message):
    with pytest.raises(ValueError, match=message):
        bootstrap_intervals(mean_metrics({"m": [1.0, 2.0]}), ["a", "b"], **{"seed": 0, **wrong})


def test_refuses_another_number_of_patients():
    with pytest.raises(ValueError, match="2 studies but 3 patients"):
        bootstrap_intervals(mean_metrics({"m": [1.0, 2.0]}), ["a", "b", "c"], seed=0)
