import numpy as np
import pytest

from radrl.evaluation.baselines import (
    constant_normal_report,
    every_label_positive,
    nearest_films,
    random_training_reports,
)
from radrl.evaluation.clinical_efficacy import clinical_efficacy


def test_constant_report_is_the_same_for_every_study():
    reports = constant_normal_report(3)
    assert len(reports) == 3
    assert len(set(reports)) == 1
    assert "No" in reports[0]


def test_every_label_positive_has_recall_1_and_the_prevalence_as_precision():
    reference = (np.random.default_rng(0).random((50, 14)) < 0.2).astype(int)
    found = clinical_efficacy(reference, every_label_positive(50), labeler="x").metrics
    assert found["ce_x_micro14_recall"] == 1.0
    assert found["ce_x_micro14_precision"] == pytest.approx(reference.mean())


def test_random_training_reports_are_seeded_draws():
    training = [f"report {i}" for i in range(20)]
    drawn = random_training_reports(training, 10, seed=1)
    assert drawn == random_training_reports(training, 10, seed=1)
    assert drawn != random_training_reports(training, 10, seed=2)
    assert set(drawn) <= set(training)


def test_random_training_reports_need_a_training_report():
    with pytest.raises(ValueError, match="no training report"):
        random_training_reports([], 2, seed=0)


def test_nearest_films_by_plain_distance():
    rng = np.random.default_rng(0)
    training, films = rng.normal(size=(30, 6)), rng.normal(size=(11, 6))
    distance = np.linalg.norm(films[:, None] - training[None], axis=2)  # (11, 30)
    np.testing.assert_array_equal(nearest_films(training, films, chunk=4), distance.argmin(axis=1))
    np.testing.assert_array_equal(nearest_films(training, training), np.arange(30))


def test_nearest_films_refuses_vectors_of_other_length():
    with pytest.raises(ValueError, match=r"\(2, 5\) against training films \(3, 4\)"):
        nearest_films(np.zeros((3, 4)), np.zeros((2, 5)))
