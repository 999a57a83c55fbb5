"""The oracle: the reference report preferred over failed rollouts (OraPO, eq. 8 to 12), for the trainer.

Nothing is generated for it: positives are the reference reports, negatives rollouts that a group has anyway.
A step's mixing weights scale advantages by 1 - w, which is eq. 11's first term, because the clipped loss is
linear in a positive factor; what each pair adds is found per micro-batch, from log-probabilities that the
trainer's own function computes.

Departures from OraPO: a KL term, where there is one, keeps its whole weight, for it restrains both terms;
each rollout is a pair of its own with the prompt's one reference, and pairs of a prompt count alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from torch.nn.functional import softplus
from transformers import PreTrainedTokenizerBase, TrainerCallback
from transformers.trainer_callback import ExportableState
from trl.trainer.utils import split_pixel_values_by_grid, unsplit_pixel_values_by_grid

from radrl.algorithms.f_measure import BoolArray, FloatArray
from radrl.algorithms.ln_dpo import Negatives, negatives
from radrl.algorithms.oracle import (
    Per,
    WithoutNegatives,
    average_rates,
    loss_shares,
    mixing_weight,
    zero_reward_rate,
)
from radrl.policy import families
from radrl.policy.encoding import encode_targets
from radrl.training.reinforcement.shared_forward import Texts

Batch = dict[str, Any]
"""What TRL calls inputs: tensors, a row a rollout."""
FILMS: Final = ("pixel_values", "image_grid_thw", "num_images")
"""Of TRL's inputs those of films."""


@dataclass(frozen=True, slots=True, eq=False)
class Mixing:
    """How a step's two losses are mixed.

    Args:
        grpo: what each prompt's GRPO loss is multiplied by, shape (P,).
        pairs: what each rollout's preference loss is multiplied by, so that the mean over all rollouts is the
            mean over prompts of eq. 11's second term; 0 where the rollout is no negative; shape (P, G).
        numbers: for the step's record.
    """

    grpo: FloatArray
    pairs: FloatArray
    numbers: dict[str, float]


@dataclass(slots=True, eq=False)
class Oracle:
    """How much the reference reports teach, step after step.

    Args:
        tokenizer: the policy's.
        momentum, per: of the average of zero-reward rates (eq. 9).
        w_min, w_max, exponent: of the mixing weight (eq. 10).
        negatives: which rollouts the reference is preferred over (eq. 12).
        without_negatives: what becomes of a prompt without one.
        tau: steepness of the preference loss (eq. 7).
    """

    tokenizer: PreTrainedTokenizerBase
    momentum: float
    per: Per
    w_min: float
    w_max: float
    exponent: float
    negatives: Negatives
    without_negatives: WithoutNegatives
    tau: float

    def mix(
        self, state: dict[str, float], prompts: Sequence[str], earned: FloatArray, written: BoolArray
    ) -> tuple[Mixing, dict[str, float]]:
        """Weigh a step's losses by how many rollouts earned nothing.

        Args:
            state: averages before this step.
            prompts: ids of the P prompts.
            earned: clinical reward of each rollout, NaN where it is missing, shape (P, G).
            written: which rollouts have a token that counts in the loss, shape (P, G).

        Returns:
            The mixing, and the averages after this step. A prompt without any clinical score keeps its
            average and all of its GRPO loss.
        """
        known = ~np.isnan(earned)
        some = known.any(axis=1)
        chosen = negatives(np.where(known, earned, 1.0), which=self.negatives) & known & written
        grpo, dpo = np.ones(len(prompts)), np.zeros(len(prompts))
        numbers: dict[str, float] = {"pairs": float(chosen.sum(axis=1).mean())}
        if some.any():
            rates = np.array([zero_reward_rate(group[~np.isnan(group)]) for group in earned[some]])
            named = [prompt for prompt, has in zip(prompts, some, strict=True) if has]
            averaged = average_rates(state, named, rates, momentum=self.momentum, per=self.per)
            state = averaged.state
            weight = mixing_weight(averaged.rates, w_min=self.w_min, w_max=self.w_max, exponent=self.exponent)
            shares = loss_shares(weight, chosen[some].any(axis=1), without_negatives=self.without_negatives)
            grpo[some], dpo[some] = shares
            means = {"zero_reward_rate": rates, "averaged_rate": averaged.rates, "mixing_weight": weight}
            numbers |= {name: float(values.mean()) for name, values in means.items()}
        each = dpo * chosen.shape[1] / np.maximum(chosen.sum(axis=1), 1)
        mixing = Mixing(grpo, chosen * each[:, None], {f"oracle/{key}": own for key, own in numbers.items()})
        return mixing, state

    def encode(self, references: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
        """Tokens of reference reports, ended and padded on the right, and their mask; both (N, T)."""
        return encode_targets(self.tokenizer, references)


class AveragedRates(TrainerCallback, ExportableState):  # type: ignore[misc]
    """The averages of eq. 9, kept in trainer_state.json: a resumed run has those of an unbroken one."""

    def __init__(self) -> None:
        self.rates: dict[str, float] = {}

    def state(self) -> dict[str, Any]:
        """What transformers writes into a checkpoint."""
        return {"args": {}, "attributes": {"rates": dict(self.rates)}}

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Called with the state of the checkpoint, where there is one."""
        saved = state.stateful_callbacks.get(type(self).__name__)
        if saved:
            self.rates = dict(saved["attributes"]["rates"])


def references(batch: Batch) -> tuple[Texts, torch.Tensor]:
    """The references that are preferred over some rollout, one a film.

    Args:
        batch: TRL's inputs of B rollouts, with pair_weight, film, reference_ids and reference_mask.

    Returns:
        N of them, and for each rollout the index of its reference. N is at least 1, since all processes have
        to ask the model alike. A rollout whose reference is not among the N has another's index and no pair.
    """
    weight, film = batch["pair_weight"], batch["film"]
    films = (film[weight > 0] if (weight > 0).any() else film[:1]).unique()  # sorted
    rows = torch.stack([(film == own).nonzero()[0, 0] for own in films])
    texts = Texts(rows, batch["reference_ids"][rows], batch["reference_mask"][rows])
    return texts, torch.searchsorted(films, film).clamp(max=len(films) - 1)


def logprob_batch(batch: Batch) -> Batch:
    """A batch's rollouts, as the trainer's log-probabilities ask for them.

    Args:
        batch: TRL's inputs of B rollouts.

    Returns:
        Arguments of `_get_per_token_logps_and_entropies` but for the model.
    """
    films = (*FILMS, *families.KINDS)
    return {
        "input_ids": torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1),
        "attention_mask": torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1),
        "logits_to_keep": batch["completion_ids"].size(1),
        **{name: batch[name] for name in films if name in batch},
    }


def rows_of(batch: Batch, texts: Texts) -> Batch:
    """Texts alone behind their prompts, as the trainer's log-probabilities ask for them.

    Args:
        batch: TRL's inputs of B rollouts.
        texts: behind N of their prompts.

    Returns:
        Arguments of `_get_per_token_logps_and_entropies` but for the model.
    """
    films = {key: batch[key] for key in FILMS if key in batch}
    rows, ids = texts.rows, texts.ids
    chosen = {key: [own[i] for i in rows.tolist()] for key, own in split_pixel_values_by_grid(films).items()}
    prompt = batch["prompt_ids"][rows]
    arguments = {
        "input_ids": torch.cat([prompt, ids], dim=1),
        "attention_mask": torch.cat([batch["prompt_mask"][rows], texts.mask], dim=1),
        "logits_to_keep": ids.size(1),
        **unsplit_pixel_values_by_grid(chosen),
    }
    for name in families.KINDS:
        if name in batch:
            kinds = batch[name][rows, : prompt.size(1)]
            arguments[name] = torch.cat([kinds, kinds.new_zeros(ids.shape)], dim=1)
    return arguments


def mean_by_length(log_probabilities: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """`algorithms.ln_dpo.mean_log_probability` with gradients, 0 for a row without a token; shape (N,)."""
    return (log_probabilities * mask).sum(-1) / mask.sum(-1).clamp(min=1)


def pair_losses(margins: torch.Tensor, tau: float) -> torch.Tensor:
    """`radrl.algorithms.ln_dpo.pair_loss` with gradients (OraPO, eq. 7): -log sigmoid(tau h), same shape."""
    return softplus(-tau * margins)
