import numpy as np
import pytest

from radrl.algorithms.checks import finite, rates, require_choice, same_shape


def test_names_the_place_of_a_number_that_is_not_finite():
    assert finite([1, 2], "reward").dtype == np.float64
    with pytest.raises(ValueError, match=r"reward at \(1, 0\) is inf"):
        finite([[0.0], [np.inf]], "reward")


def test_names_the_place_of_what_is_no_rate():
    assert rates([0, 1], "share").tolist() == [0.0, 1.0]
    for bad in (-0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match=r"share at \(1,\) is"):
            rates([0.5, bad], "share")


def test_checks_a_single_number_too():
    with pytest.raises(ValueError, match=r"reward at \(\) is nan"):
        finite(np.nan, "reward")
    with pytest.raises(ValueError, match=r"share at \(\) is 2"):
        rates(2, "share")


def test_shows_all_shapes_when_two_differ():
    same_shape(one=np.zeros(2), other=np.ones(2))
    with pytest.raises(ValueError, match=r"one \(2,\), other \(3,\)"):
        same_shape(one=np.zeros(2), other=np.zeros(3))


def test_lists_what_is_valid():
    require_choice("raw", "tf", ("relative", "raw"))
    with pytest.raises(ValueError, match="unknown tf 'log'; valid: relative, raw"):
        require_choice("log", "tf", ("relative", "raw"))
