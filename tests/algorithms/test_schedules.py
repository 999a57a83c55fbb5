import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.algorithms.total_reward import two_phase


def test_by_hand():
    assert two_phase([0.0, 0.3, 0.5, 0.9]).tolist() == [0.0, 0.0, 0.25, 0.25]
    assert two_phase([0.0, 0.3], phase_switch=0.3, first=1.0, second=0.5).tolist() == [1.0, 0.5]


def test_a_switch_at_0_mixes_from_the_first_step():
    assert float(two_phase(0.0, phase_switch=0.0)) == 0.25


@given(st.integers(1, 500), st.data())
def test_the_second_phase_has_its_share_of_the_steps(steps, data):
    first = data.draw(st.integers(0, steps))
    weights = two_phase(np.arange(steps) / steps, phase_switch=first / steps)
    assert weights.tolist() == [0.0] * first + [0.25] * (steps - first)


@pytest.mark.parametrize(("share", "switch"), [(1.5, 0.5), (-0.1, 0.5), (0.5, 2.0)])
def test_refuses_what_is_no_share(share, switch):
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\]"):
        two_phase(share, phase_switch=switch)
