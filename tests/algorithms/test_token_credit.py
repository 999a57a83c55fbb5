import numpy as np
import pytest

from radrl.algorithms.advantages import token_advantages


def test_by_hand():
    credit = token_advantages([2.0, -1.0], [[1.0, 1.5], [3.0, 1.0]])
    assert credit.tolist() == [[2.0, 3.0], [-3.0, -1.0]]


def test_weights_of_1_are_grpo():
    advantages = np.array([[0.3, -0.3]])  # (1, N)
    np.testing.assert_array_equal(
        token_advantages(advantages, np.ones((1, 2, 4))), np.repeat(advantages[..., np.newaxis], 4, axis=-1)
    )


def clipped_loss(case, advantages):
    """Minus the PPO-clipped objective of each token, (N, T), zero outside the mask."""
    logp, old, mask = (np.array(case[name]) for name in ("logp", "old_logp", "mask"))
    low, high = case["eps"]
    ratio = np.exp(logp - old)
    return -np.minimum(ratio * advantages, np.clip(ratio, 1 - low, 1 + high) * advantages) * mask


@pytest.mark.parametrize("credit", ["uniform", "token_weighted"])
def test_the_loss_they_give_agrees_with_the_vectors(rl_math, credit):
    case = rl_math["grpo_loss"]
    weights = np.array(case["token_weights"])
    loss = clipped_loss(
        case, token_advantages(case["adv"], weights if credit == "token_weighted" else np.ones_like(weights))
    )
    mask = np.array(case["mask"])
    expected = case["expected"]
    per_report = (loss.sum(axis=1) / mask.sum(axis=1)).mean()
    assert per_report == pytest.approx(expected[f"grpo_beta0.0_{credit}"], abs=1e-12)
    assert loss.sum() / mask.sum() == pytest.approx(expected[f"dapo_beta0.0_{credit}"], abs=1e-12)
    by_limit = loss.sum() / (len(mask) * case["max_completion_length"])
    assert by_limit == pytest.approx(expected[f"dr_grpo_beta0.0_{credit}"], abs=1e-12)


def test_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match=r"\(2,\).*\(3, 4\)"):
        token_advantages(np.ones(2), np.ones((3, 4)))
    with pytest.raises(ValueError, match=r"weight at \(0, 1\) is nan"):
        token_advantages([1.0], [[1.0, np.nan]])
