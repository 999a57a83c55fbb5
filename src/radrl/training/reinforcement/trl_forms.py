"""What TRL's trainer is handed, in the form that it asks for: the loss, the parts of the reward.

Where `training.iterations` is 1 and the policy itself draws, every ratio is 1, and clipping, `two_sided`,
`cap`, `temperatures`, `powers` and `decays` change nothing: the losses then differ in how they average alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from radrl.rewards.base import Part, RewardSum
from radrl.training.reinforcement.reward_requests import RewardRequests

CAP: Final = 5.0
"""Of cispo: what ScaleRL (arXiv 2510.13786) recommends."""
TEMPERATURES: Final = (1.0, 1.05)
POWERS: Final = (2.0, 3.0)
DECAYS: Final = (3.0, 2.0)
"""Of sapo and vespo, for positive advantages and others: the papers', as TRL has them."""


def loss_arguments(loss: str | Mapping[str, Any], *, clip_low: float, clip_high: float) -> dict[str, Any]:
    """What `trl.GRPOConfig` calls a loss and its settings, all written out.

    Args:
        loss: a name, or `radrl.params.losses.Loss` as a mapping.
        clip_low: how far below 1 a ratio counts, of the clipped losses.
        clip_high: how far above 1.
    """
    own: Mapping[str, Any] = {"name": loss} if isinstance(loss, str) else loss
    gain, harm = own.get("temperatures") or TEMPERATURES
    powers, decays = own.get("powers") or POWERS, own.get("decays") or DECAYS
    # TRL's cap of cispo has the name of the other losses' upper clip
    high = (own.get("cap") or CAP) if own["name"] == "cispo" else clip_high
    return {
        "loss_type": own["name"],
        "importance_sampling_level": own.get("ratio", "token"),
        "epsilon": clip_low,
        "epsilon_high": high,
        "delta": own.get("two_sided"),
        "sapo_temperature_pos": gain,
        "sapo_temperature_neg": harm,
        "vespo_k_pos": powers[0],
        "vespo_k_neg": powers[1],
        "vespo_lambda_pos": decays[0],
        "vespo_lambda_neg": decays[1],
        "top_entropy_quantile": own.get("doubtful_share") or 1.0,
        **_entropy(own.get("entropy")),
    }


def _entropy(own: Mapping[str, Any] | None) -> dict[str, Any]:
    own = own or {"weight": 0.0}
    least, most, step = (own.get(key) for key in ("least", "most", "step"))
    return {
        "entropy_coef": own["weight"],
        "use_adaptive_entropy": own.get("target") is not None,
        "entropy_target": own.get("target") or 0.0,
        "entropy_coef_min": 0.0 if least is None else least,
        "entropy_coef_max": 1.0 if most is None else most,
        "entropy_coef_delta": 0.005 if step is None else step,
    }


@contextmanager
def silenced(name: str) -> Iterator[None]:
    """A block in which a logger says nothing."""
    logger = logging.getLogger(name)
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def as_trl(part: Part, reward: RewardSum, requests: RewardRequests) -> Callable[..., list[float]]:
    """TRL's calling convention around one part of the reward.

    Args:
        part: one of the reward's.
        reward: whose part it is.
        requests: of the parts that are asked in threads.
    """

    def score(
        completions: Sequence[Sequence[Mapping[str, str]]],
        reference: Sequence[str],
        label_text: Sequence[str],
        sample_id: Sequence[str],
        log_metric: Callable[[str, float], None],
        **_: Any,
    ) -> list[float]:
        outputs = [completion[0]["content"] for completion in completions]
        if part.waits:
            return requests.scores(part)
        scores = reward.score_part(part, outputs, reference, sample_id, label_texts=label_text)
        for name, value in part.reward.told.items():
            log_metric(f"rewards/{part.name}/{name}", value)
        return scores

    score.__name__ = part.name
    return score
