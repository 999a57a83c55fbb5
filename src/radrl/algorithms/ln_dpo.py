"""Preferring the reference report over failed rollouts: OraPO, eq. 5 to 7 and 12, with lengths divided out.

LN-DPO divides log-probabilities by length before the margin (the paper's appendix A, after Ahrabian et al.,
2025). Here in NumPy, so that what a trainer computes with gradients has something to agree with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from radrl.algorithms.checks import finite, require_choice, same_shape
from radrl.algorithms.f_measure import BoolArray, FloatArray, ratio

Negatives = Literal["zero_reward", "all"]


@dataclass(frozen=True, slots=True)
class PreferenceLoss:
    """LN-DPO of P prompts.

    Args:
        loss: mean over each prompt's pairs, 0 without a pair, shape (P,).
        margins: h of every rollout, negative or not, shape (P, G).
        has_negatives: which prompts have a pair, shape (P,).
    """

    loss: FloatArray
    margins: FloatArray
    has_negatives: BoolArray


def mean_log_probability(log_probabilities: npt.ArrayLike, mask: npt.ArrayLike) -> FloatArray:
    """A sequence's log-probability divided by its length: what makes DPO length-normalised.

    Args:
        log_probabilities: of each token, at most 0, shape (..., T).
        mask: which tokens belong to the sequence, same shape.

    Returns:
        Mean over each sequence's tokens, shape (...).

    Raises:
        ValueError: when the shapes differ, a sequence has no token, or one of its numbers is not finite.
    """
    inside = np.asarray(mask).astype(np.bool_)
    given = np.asarray(log_probabilities, np.float64)
    same_shape(log_probabilities=given, mask=inside)
    each = finite(np.where(inside, given, 0.0), "log-probability")
    length = inside.sum(axis=-1)
    if not np.all(length > 0):
        raise ValueError(f"sequence {np.argwhere(length == 0)[0].tolist()} has no token; leave it out")
    mean: FloatArray = each.sum(axis=-1) / length
    return mean


def negatives(rewards: npt.ArrayLike, *, which: Negatives = "zero_reward") -> BoolArray:
    """The rollouts that the reference is preferred over: OraPO, eq. 12.

    The equation takes all of a group's rollouts, the text around it those without reward.

    Args:
        rewards: rewards of the G rollouts of each prompt, shape (..., G).
        which: ``zero_reward`` (exactly 0) or ``all``.

    Returns:
        Booleans, shape (..., G).

    Raises:
        ValueError: when `which` is unknown or a reward is not finite.
    """
    require_choice(which, "negatives", get_args(Negatives))
    earned = finite(rewards, "reward")
    chosen: BoolArray = np.ones(earned.shape, np.bool_) if which == "all" else earned == 0
    return chosen


def preference_margin(
    positive_policy: npt.ArrayLike,
    positive_reference: npt.ArrayLike,
    negative_policy: npt.ArrayLike,
    negative_reference: npt.ArrayLike,
) -> FloatArray:
    """By how much more than the frozen policy the policy prefers the positive: OraPO, eq. 5 and 6.

    h = (log p(y+) - log p_ref(y+)) / |y+|  -  (log p(y-) - log p_ref(y-)) / |y-|

    Args:
        positive_policy: mean log-probability of the reference report, shape (...).
        positive_reference: the same under the frozen policy, same shape.
        negative_policy: mean log-probability of a rollout, same shape or one that broadcasts.
        negative_reference: the same under the frozen policy, same shape as `negative_policy`.

    Returns:
        h, in nats a token, shape (...).

    Raises:
        ValueError: when a number is not finite.
    """
    gain = finite(positive_policy, "positive") - finite(positive_reference, "positive under the reference")
    loss = finite(negative_policy, "negative") - finite(negative_reference, "negative under the reference")
    margin: FloatArray = gain - loss
    return margin


def pair_loss(margin: npt.ArrayLike, *, tau: float) -> FloatArray:
    """DPO's loss of one pair: OraPO, eq. 7, -log sigmoid(tau h).

    Args:
        margin: h, any shape.
        tau: steepness of the sigmoid (DPO's beta), above 0. The paper's value could not be read; margins by
            length are fractions of a nat, where the loss falls by about tau / 2 a nat.

    Returns:
        Losses, ln 2 at a margin of 0 and falling with it, same shape.

    Raises:
        ValueError: when tau is not above 0 or a margin is not finite.
    """
    if not 0 < tau < np.inf:
        raise ValueError(f"tau is {tau}; it must be above 0")
    loss: FloatArray = np.logaddexp(0.0, -tau * finite(margin, "margin"))
    return loss


def ln_dpo_loss(
    positive_policy: npt.ArrayLike,
    positive_reference: npt.ArrayLike,
    negative_policy: npt.ArrayLike,
    negative_reference: npt.ArrayLike,
    chosen: npt.ArrayLike,
    *,
    tau: float,
) -> PreferenceLoss:
    """LN-DPO of each prompt: its reference report against its negatives, all pairs alike (OraPO, eq. 7, 12).

    Args:
        positive_policy: mean log-probability of each prompt's reference report, shape (P,).
        positive_reference: the same under the frozen policy, shape (P,).
        negative_policy: mean log-probability of each rollout, shape (P, G).
        negative_reference: the same under the frozen policy, shape (P, G).
        chosen: which rollouts are negatives (`negatives`), shape (P, G).
        tau: see `pair_loss`.

    Returns:
        Loss, margins and which prompts have a pair.

    Raises:
        ValueError: when shapes do not fit, a number is not finite or tau is not above 0.
    """
    positive = np.stack([finite(positive_policy, "positive"), finite(positive_reference, "positive")])
    policy, reference = finite(negative_policy, "negative"), finite(negative_reference, "negative")
    pairs = np.asarray(chosen).astype(np.bool_)
    same_shape(negative_policy=policy, negative_reference=reference, chosen=pairs)
    if policy.ndim != 2 or positive.shape[1:] != policy.shape[:1]:
        raise ValueError(
            f"positives have shape {positive.shape[1:]}, negatives {policy.shape}; give (P,), (P, G)"
        )
    margins = preference_margin(positive[0, :, np.newaxis], positive[1, :, np.newaxis], policy, reference)
    total = np.where(pairs, pair_loss(margins, tau=tau), 0.0).sum(axis=-1)
    count = pairs.sum(axis=-1)
    return PreferenceLoss(ratio(total, count, 0.0), margins, count > 0)
