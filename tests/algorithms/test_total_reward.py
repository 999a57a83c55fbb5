import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.algorithms.total_reward import clinical_and_bleu, clinical_and_format, two_phase

SHARE = st.floats(0, 1)


def test_deer_by_hand():
    # 0.5 + 0.25 * 0.4
    np.testing.assert_allclose(clinical_and_bleu([0.5, 1.0], [0.4, 0.0], gamma=0.25), [0.6, 1.0])


@given(SHARE, SHARE, st.integers(0, 99))
def test_deer_in_its_first_phase_is_f1_alone(f1, bleu, step):
    reward = clinical_and_bleu([f1], [bleu], gamma=two_phase(step / 100, phase_switch=1.0))
    assert reward.tolist() == [f1]


def test_mrg_r1_by_hand():
    # 0.75 * 0.4 + 0.25 * 1
    np.testing.assert_allclose(clinical_and_format([0.4, 0.0], [1.0, 0.5]), [0.55, 0.125])


@given(SHARE, SHARE)
def test_mrg_r1_lies_between_its_terms(clinical, form):
    reward = clinical_and_format([clinical], [form])[0]
    assert min(clinical, form) - 1e-12 <= reward <= max(clinical, form) + 1e-12


def test_refuses_what_is_no_score():
    with pytest.raises(ValueError, match=r"BLEU-2 at \(0,\) is 40"):
        clinical_and_bleu([0.5], [40.0], gamma=0.25)
    with pytest.raises(ValueError, match="gamma is -1"):
        clinical_and_bleu([0.5], [0.4], gamma=-1.0)
    with pytest.raises(ValueError, match=r"format credit at \(0,\) is nan"):
        clinical_and_format([0.5], [np.nan])
    with pytest.raises(ValueError, match="both must be at least 0"):
        clinical_and_format([0.5], [0.5], format_weight=-0.25)
    with pytest.raises(ValueError, match=r"clinical \(2,\), form \(1,\)"):
        clinical_and_format([0.5, 0.5], [0.5])
