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


def test_nearest_film_by_hand():
    training = np.array([[0, 0], [3, 4], [9, 9]], dtype=np.uint8)
    films = np.array(
        [[3, 3], [255, 255], [1, 1]], dtype=np.uint8
    )  # distances to the second: 1, ..., 13; 2 wins
    assert nearest_films(films, [training]).tolist() == [1, 2, 0]


def test_nearest_films_in_parts_are_those_at_once_by_plain_distance():
    rng = np.random.default_rng(0)
    training, films = (rng.integers(0, 256, (n, 256), dtype=np.uint8) for n in (300, 11))
    squared = ((films[:, None].astype(int) - training[None]) ** 2).sum(axis=2)  # (11, 300)
    for size in (1, 7, 300):
        parts = [training[start : start + size] for start in range(0, 300, size)]
        np.testing.assert_array_equal(nearest_films(films, parts), squared.argmin(axis=1))
    np.testing.assert_array_equal(nearest_films(training, [training]), np.arange(300))


def test_first_of_equally_near_films_wins_within_and_across_parts():
    twin = np.array([[5, 5], [5, 5]], dtype=np.uint8)
    far = np.array([[200, 0]], dtype=np.uint8)
    film = np.array([[5, 6]], dtype=np.uint8)
    assert nearest_films(film, [twin]).tolist() == [0]
    assert nearest_films(film, [far, twin, twin]).tolist() == [1]
    # (5, 5) and (5, 7) are both 1 away
    assert nearest_films(film, [np.array([[5, 7]], np.uint8), twin]).tolist() == [0]


def test_nearest_films_need_a_training_film_of_the_same_size():
    with pytest.raises(ValueError, match=r"films \(2, 5\), training films \(3, 4\)"):
        nearest_films(np.zeros((2, 5), np.uint8), [np.zeros((3, 4), np.uint8)])
    with pytest.raises(ValueError, match="no training film"):
        nearest_films(np.zeros((2, 5), np.uint8), iter([]))
