import numpy as np
import pytest

from radrl.evaluation import SummedMetrics, join, mean_metrics, restricted


def test_means_by_hand():
    assert mean_metrics({"a": [1.0, 2.0, 6.0], "b": [0.0, 0.0, 3.0]}).values() == {"a": 3.0, "b": 1.0}


def test_sums_may_carry_leading_axes():
    family = mean_metrics({"a": [1.0, 2.0]})
    doubled = np.array([[2.0, 1.0], [4.0, 2.0]])  # one study alone; one study twice
    assert family.of_sums(doubled)["a"].tolist() == [2.0, 2.0]


def test_a_broken_statistic_is_named():
    with pytest.raises(ValueError, match="statistic 0 of study 1 is nan"):
        mean_metrics({"a": [1.0, float("nan")]})


def test_join_keeps_every_metric_and_refuses_a_name_twice():
    a, b = mean_metrics({"a": [1.0, 3.0]}), mean_metrics({"b": [5.0, 7.0]})
    assert join(a, b).values() == {"a": 2.0, "b": 6.0}
    with pytest.raises(ValueError, match="named twice: a"):
        join(a, a).values()


def test_join_refuses_other_numbers_of_studies():
    with pytest.raises(ValueError, match=r"\[2, 3\] studies"):
        join(mean_metrics({"a": [1.0, 3.0]}), mean_metrics({"b": [1.0, 2.0, 3.0]}))


def test_no_study_is_refused():
    with pytest.raises(ValueError, match="at least one study"):
        SummedMetrics(np.zeros((0, 2)), lambda sums: {"a": sums[..., 0]})


def test_some_of_the_studies():
    family = mean_metrics({"a": [1.0, 2.0, 6.0]})
    some = restricted(family, np.array([True, False, True]))
    assert some.values() == {"a": 3.5}
    assert len(some.per_study) == 2
    with pytest.raises(ValueError, match=r"shape \(2,\); give \(3,\)"):
        restricted(family, np.array([True, False]))
    with pytest.raises(ValueError, match="at least one study"):
        restricted(family, np.array([False] * 3))
