"""transformers' models in this process, with radrl's own loop and draws."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from PIL import Image

from radrl.policy import folder, token_draws
from radrl.policy.encoding import Films, decode_films, encode_prompts
from radrl.policy.folder import Policy, ends
from radrl.policy.shared_prefill import sharing, write_on
from radrl.policy.writer import Drawn, Prompt, Written, of_each
from radrl.process.devices import device_name, pin, place


@torch.no_grad()  # under inference_mode sharded weights would be gathered into tensors that cannot train
def write(
    policy: Policy,
    films: Sequence[Sequence[Image.Image]],
    prompt: Prompt,
    *,
    max_new_tokens: int,
    samples: int = 1,
    temperature: float = 0.0,
    top_p: float = 1.0,
    seed: int = 0,
    first: int = 0,
) -> list[list[Written]]:
    """Write reports on samples.

    Args:
        policy: who writes.
        films: the pictures of B samples, one or more each.
        prompt: as all that follows, of `radrl.policy.writer.Writer.write`.
        max_new_tokens: tokens a report may have, its end included.
        samples: reports a sample.
        temperature: 0 is greedy.
        top_p: nucleus mass.
        seed: of the draws.
        first: the place of the batch's first sample.

    Returns:
        For each its reports, shape (B, samples).
    """
    inputs = encode_prompts(policy.processor, films, of_each(prompt, len(films))).to(policy.model.device)
    owners = torch.arange(len(films), device=policy.model.device).repeat_interleave(samples)
    numbers = None
    if temperature > 0:
        places = range(first, first + len(films))
        numbers = token_draws.numbers(seed, places, samples, max_new_tokens, owners.device)
    how = _decoding(temperature, top_p)
    ids = write_on(policy.model, inputs, owners, numbers=numbers, max_new_tokens=max_new_tokens, **how)
    completions = ids[:, inputs["input_ids"].shape[1] :]  # (B * samples, T)
    texts = policy.processor.batch_decode(completions, skip_special_tokens=True)
    lengths, ended = _ends(completions, policy)
    written = [Written(text.strip(), *of) for text, *of in zip(texts, lengths, ended, strict=True)]
    return [written[i : i + samples] for i in range(0, len(written), samples)]


def draw(
    policy: Policy,
    films: Sequence[Sequence[Image.Image]],
    prompts: Sequence[str],
    *,
    numbers: torch.Tensor,
    temperature: float,
    top_p: float,
    max_new_tokens: int,
) -> list[Drawn]:
    """Draw a report on each row; equal neighbours are read once.

    Args:
        policy: who writes.
        films: the pictures of B rows, one or more each.
        prompts: the instruction of each.
        numbers: of the draws, as `radrl.policy.decoding.decode` takes them, shape (B, max_new_tokens).
        temperature: above 0.
        top_p: nucleus mass.
        max_new_tokens: tokens a report may have, its end included.

    Returns:
        B reports as tokens with their log-probabilities.
    """
    inputs = encode_prompts(policy.processor, films, list(prompts)).to(policy.model.device)
    shares = torch.ones_like(numbers)
    with sharing(policy.model, numbers=numbers, shares=shares):
        ids = policy.model.generate(**inputs, max_new_tokens=max_new_tokens, **_decoding(temperature, top_p))
    completions = ids[:, inputs["input_ids"].shape[1] :]
    lengths = (length + ended for length, ended in zip(*_ends(completions, policy), strict=True))
    rows = zip(completions.tolist(), shares.log().tolist(), lengths, strict=True)
    return [Drawn(tokens[:length], logs[:length]) for tokens, logs, length in rows]


def _ends(completions: torch.Tensor, policy: Policy) -> tuple[list[int], list[bool]]:
    """Tokens before the end of each completion, shape (B, T), and whether there is an end."""
    # padding comes after an end alone
    final = [*ends(policy), policy.model.generation_config.pad_token_id]
    at_end = torch.isin(completions, torch.tensor(final, device=completions.device))
    ended = at_end.any(dim=1)
    lengths = torch.where(ended, at_end.int().argmax(dim=1), completions.shape[1])
    return lengths.tolist(), ended.tolist()


def _decoding(temperature: float, top_p: float) -> dict[str, Any]:
    # said in full: Qwen's own generation_config.json penalises repetitions, which radiology is full of
    plain = {"num_beams": 1, "repetition_penalty": 1.0}
    if temperature == 0:
        return {**plain, "do_sample": False}
    # top_k 0 switches off transformers' default of 50, which is no part of nucleus sampling
    return {**plain, "do_sample": True, "temperature": temperature, "top_p": top_p, "top_k": 0}


class HfWriter:
    """See `radrl.policy.writer.Writer`.

    Args:
        policy: who writes, where it lies.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy, self.device = policy, device_name(policy.model.device)

    @classmethod
    def open(cls, path: Path, *, dtype: str, device: str, threads: int) -> HfWriter:
        """The policy of a folder.

        Args:
            path: the folder.
            dtype: of the weights.
            device: where the policy computes, as params.yaml's `device`.
            threads: of torch.
        """
        where = place(device)
        pin(threads, where)
        return cls(folder.load(path, dtype=dtype, device=where))

    def write(self, films: Sequence[Films], prompt: Prompt, **how: Any) -> list[list[Written]]:
        """See `radrl.policy.writer.Writer`."""
        return write(self.policy, [decode_films(own) for own in films], prompt, **how)

    def close(self) -> None:
        """See `radrl.policy.writer.Writer`: the memory goes with the last who knows the policy."""
