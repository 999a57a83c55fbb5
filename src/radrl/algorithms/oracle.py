"""How much the reference report teaches: OraPO, eq. 8 to 11 (zero-reward rate, its average, the mixing).

The paper's numbers could not be read; the defaults (momentum 0.5, weights 0.05 to 0.15, exponent 2) are those
that secondary notes on it agree on. The loss on preferences, L_DPO, stands in `radrl.algorithms.ln_dpo`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from radrl.algorithms.checks import finite, rates, require_choice
from radrl.algorithms.f_measure import FloatArray

Per = Literal["prompt", "batch"]
WithoutNegatives = Literal["drop_term", "grpo_alone"]

BATCH: Final = ""
"""The key of the state under which the average over batches stands; no prompt may have this id."""


@dataclass(frozen=True, slots=True)
class AveragedRates:
    """What `average_rates` hands back.

    Args:
        rates: the averaged rate of each prompt of the batch, shape (P,).
        state: all averages so far, by prompt id or under `BATCH`: strings and floats, ready for JSON.
    """

    rates: FloatArray
    state: dict[str, float]


def zero_reward_rate(rewards: npt.ArrayLike) -> FloatArray:
    """Share of a group's rewards that are exactly 0: OraPO, eq. 8.

    No tolerance: a reward of 1e-9 is one. So a term that is never quite 0 (BLEU without smoothing has a floor
    near 1e-8) keeps the rate of the sum at 0; take the rate of the clinical part then.

    Args:
        rewards: rewards of the G rollouts of each prompt, shape (..., G).

    Returns:
        z of each prompt, 1 when no rollout earned anything, shape (...).

    Raises:
        ValueError: when a group is empty or a reward is not finite.
    """
    earned = finite(rewards, "reward")
    if earned.ndim < 1 or earned.shape[-1] == 0:
        raise ValueError(f"rewards have shape {earned.shape}; give (..., G) with at least one rollout")
    rate: FloatArray = np.asarray((earned == 0).mean(axis=-1))
    return rate


def moving_average(previous: float | None, observation: float, *, momentum: float = 0.5) -> float:
    """One step of the exponential moving average: OraPO, eq. 9, a z~ + (1 - a) z.

    Args:
        previous: the average so far; nothing before the first observation, which then is the average.
        observation: z.
        momentum: a, in [0, 1].

    Returns:
        The new average, between the two.

    Raises:
        ValueError: when momentum lies outside [0, 1].
    """
    if not 0 <= momentum <= 1:
        raise ValueError(f"momentum is {momentum}; give a share in [0, 1]")
    if previous is None:
        return float(observation)
    mixed = momentum * previous + (1.0 - momentum) * observation
    # a and 1 - a are rounded, so the sum may leave the interval by a last bit
    return float(min(max(mixed, min(previous, observation)), max(previous, observation)))


def average_rates(
    state: Mapping[str, float],
    prompts: Sequence[str],
    observed: npt.ArrayLike,
    *,
    momentum: float = 0.5,
    per: Per = "prompt",
) -> AveragedRates:
    """Average the zero-reward rates of one step into those before: OraPO, eq. 9.

    The paper keeps the average per prompt or per batch. A prompt that comes twice in a step counts twice, in
    this order. The state handed in stays as it is.

    Args:
        state: averages before this step, empty at the start.
        prompts: ids of the P prompts of the step, none of them empty.
        observed: z of each, in [0, 1], shape (P,).
        momentum: a of eq. 9.
        per: ``prompt``: each has its own average; ``batch``: all share that of the step's mean rate.

    Returns:
        The averages of these prompts, and the state for the next step.

    Raises:
        ValueError: when there is no prompt, an id is empty, the counts differ, or a number is out of range.
    """
    require_choice(per, "per", get_args(Per))
    seen = rates(observed, "zero-reward rate")
    if seen.shape != (len(prompts),) or not prompts:
        raise ValueError(
            f"{len(prompts)} prompts but rates of shape {seen.shape}; give one a prompt, at least one"
        )
    if BATCH in prompts:
        raise ValueError(f"prompt {list(prompts).index(BATCH)} has an empty id; give every prompt its id")
    after = dict(state)
    if per == "batch":
        after[BATCH] = moving_average(after.get(BATCH), float(seen.mean()), momentum=momentum)
        return AveragedRates(np.full(len(prompts), after[BATCH]), after)
    averaged = np.empty(len(prompts))
    for i, (prompt, rate) in enumerate(zip(prompts, seen, strict=True)):
        averaged[i] = after[prompt] = moving_average(after.get(prompt), float(rate), momentum=momentum)
    return AveragedRates(averaged, after)


def mixing_weight(
    rate: npt.ArrayLike, *, w_min: float = 0.05, w_max: float = 0.15, exponent: float = 2.0
) -> FloatArray:
    """The oracle's share: OraPO, eq. 10, clip(w_min + (w_max - w_min) z~^k, w_min, w_max).

    Args:
        rate: averaged zero-reward rates, in [0, 1], any shape.
        w_min: share when every rollout earns something.
        w_max: share when none does.
        exponent: k, above 0; the larger, the more the share waits for the worst prompts.

    Returns:
        w, rising with the rate, same shape.

    Raises:
        ValueError: when a rate lies outside [0, 1], the bounds are not 0 <= w_min <= w_max <= 1, or k <= 0.
    """
    if not 0 <= w_min <= w_max <= 1:
        raise ValueError(f"w_min is {w_min} and w_max {w_max}; give 0 <= w_min <= w_max <= 1")
    if not 0 < exponent < np.inf:
        raise ValueError(f"exponent is {exponent}; it must be above 0")
    share = w_min + (w_max - w_min) * rates(rate, "zero-reward rate") ** exponent
    weight: FloatArray = np.clip(share, w_min, w_max)
    return weight


def loss_shares(
    weight: npt.ArrayLike, has_negatives: npt.ArrayLike, *, without_negatives: WithoutNegatives = "drop_term"
) -> tuple[FloatArray, FloatArray]:
    """What the two losses of each prompt are multiplied by: OraPO, eq. 11.

    With w = 0 the shares are exactly 1 and 0. The paper does not speak of prompts without a negative.

    Args:
        weight: w of each prompt, in [0, 1], shape (P,).
        has_negatives: which prompts have a rollout to prefer the reference over, shape (P,).
        without_negatives: the other prompts keep (1 - w) of their GRPO loss (``drop_term``: eq. 11 without
            its second term) or all of it (``grpo_alone``).

    Returns:
        Shares of L_GRPO and of L_DPO, each of shape (P,).

    Raises:
        ValueError: when a weight lies outside [0, 1], the choice is unknown or the shapes do not fit.
    """
    require_choice(without_negatives, "without_negatives", get_args(WithoutNegatives))
    w, some = np.broadcast_arrays(rates(weight, "mixing weight"), np.asarray(has_negatives).astype(np.bool_))
    dpo = np.where(some, w, 0.0)
    grpo = 1.0 - (w if without_negatives == "drop_term" else dpo)
    return grpo, dpo


def mixed_loss(
    grpo: npt.ArrayLike,
    dpo: npt.ArrayLike,
    weight: npt.ArrayLike,
    has_negatives: npt.ArrayLike = True,
    *,
    without_negatives: WithoutNegatives = "drop_term",
) -> FloatArray:
    """Mix the losses of each prompt: OraPO, eq. 11, (1 - w) L_GRPO + w L_DPO; the batch takes the mean.

    A share of exactly 0 leaves its loss out, whatever it is, so w = 0 is GRPO and nothing else.

    Args:
        grpo: L_GRPO of each prompt, shape (P,).
        dpo: L_DPO of each prompt, shape (P,); not read where its share is 0.
        weight: w of each prompt, in [0, 1], shape (P,).
        has_negatives: which prompts have a preference pair, shape (P,).
        without_negatives: see `loss_shares`.

    Returns:
        Losses, shape (P,).

    Raises:
        ValueError: as `loss_shares`.
    """
    shares = loss_shares(weight, has_negatives, without_negatives=without_negatives)
    terms = [
        np.where(share == 0, 0.0, np.asarray(loss, np.float64)) * share
        for share, loss in zip(shares, (grpo, dpo), strict=True)
    ]
    loss: FloatArray = terms[0] + terms[1]
    return loss
