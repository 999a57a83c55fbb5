"""How a trainer's rollouts are drawn: by its own loop or by another engine, and by which numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from radrl.policy import shared_prefill, token_draws
from radrl.policy.vllm_writer import seed_of
from radrl.training.reinforcement import shares
from radrl.training.reinforcement.reward_requests import RewardRequests


class DrawsRollouts:
    """Mixin of TRL's trainer: a film and its prompt are read once for a group, and another engine may draw.

    Attributes:
        sampler: draws in place of the policy's own loop; nothing for that.
        requests: of the parts of the reward that are asked while rollouts are written.
        attempt: 0 for the films that a step begins with; further films count from 1, and their draws follow
            from the seed, the step, this and their place alone, not from a generator.
    """

    sampler: Any = None
    attempt = 0
    requests: RewardRequests
    _known: Any = None

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> Any:
        self.requests.begin(inputs)
        return super()._generate_and_score_completions(inputs)  # type: ignore[misc]

    def _generate(self, prompts: Any) -> Any:
        found = super()._generate(prompts)  # type: ignore[misc]
        if self._known is None:
            self.requests.finish([completion[0]["content"] for completion in found[3]])
        return found

    def _tokenize_prompts(self, prompts: Any) -> Any:
        self._asked = [instruction(messages) for messages in prompts]
        return super()._tokenize_prompts(prompts)  # type: ignore[misc]

    def _generate_single_turn(self, prompts: Any, images: Any, *args: Any, **kwargs: Any) -> Any:
        trainer: Any = self
        accelerator, step = trainer.accelerator, trainer.state.global_step
        policy = accelerator.unwrap_model(trainer.model)
        if self.sampler is not None:
            told = {"accelerator": accelerator, "step": step, "attempt": self.attempt}
            drawn = self.sampler.draw(policy, images, self._asked, **told)
            return [one.ids for one in drawn], [one.log_probabilities for one in drawn]
        numbers = self._numbers(len(prompts))
        bare = shared_prefill.bare(policy)
        # one block of autocast casts each weight once, not once a token; without it
        # the weights of adapters would not be cast at all
        with (
            accelerator.autocast(),
            shared_prefill.sharing(bare, numbers=numbers),
            self.requests.watching(bare, trainer.eos_token_ids, self._text),
        ):
            return super()._generate_single_turn(prompts, images, *args, **kwargs)  # type: ignore[misc]

    def _text(self, ids: list[int]) -> str:
        """A rollout as TRL decodes it."""
        (text,) = self.processing_class.batch_decode([ids], skip_special_tokens=True)  # type: ignore[attr-defined]
        return str(text)

    def _numbers(self, rows: int) -> torch.Tensor | None:
        """What the rollouts are drawn by; nothing for the process' own generator."""
        trainer: Any = self
        accelerator, tokens = trainer.accelerator, trainer.max_completion_length
        if not self.attempt:
            return shares.numbers(accelerator, rows, tokens)
        seed = seed_of(trainer.args.seed, trainer.state.global_step, self.attempt)
        return token_draws.numbers(seed, range(rows), 1, tokens, accelerator.device)


def instruction(messages: Sequence[Mapping[str, Any]]) -> str:
    """The text of a request for a report, without the marks of its films.

    Args:
        messages: one of a user, as TRL has it.
    """
    content = messages[-1]["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
