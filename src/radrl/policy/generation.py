"""Batched report generation, greedy or nucleus, reproducible whatever the order of batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from PIL import Image

from radrl.policy.encoding import encode_prompts
from radrl.policy.folder import Policy


@torch.inference_mode()
def generate(
    policy: Policy,
    films: Sequence[Sequence[Image.Image]],
    prompt: str,
    *,
    max_new_tokens: int,
    samples: int = 1,
    temperature: float = 0.0,
    top_p: float = 1.0,
    seed: int = 0,
) -> list[list[str]]:
    """Write reports on samples.

    Args:
        policy: who writes.
        films: the pictures of B samples, one or more each.
        prompt: the instruction.
        max_new_tokens: tokens a report may have.
        samples: reports a sample of the corpus.
        temperature: 0 is greedy.
        top_p: nucleus mass, used when temperature is above 0.
        seed: of the draws of this batch alone, so that a batch redone after a kill is the same.

    Returns:
        For each its reports, shape (B, samples).
    """
    inputs = encode_prompts(policy.processor, films, [prompt] * len(films)).to(policy.model.device)
    torch.manual_seed(seed)
    ids = policy.model.generate(
        **inputs,
        max_new_tokens=max_new_tokens,
        num_return_sequences=samples,
        **_decoding(temperature, top_p),
    )
    completions = ids[:, inputs["input_ids"].shape[1] :]  # (B * samples, T)
    texts = policy.processor.batch_decode(completions, skip_special_tokens=True)
    texts = [text.strip() for text in texts]
    return [texts[i : i + samples] for i in range(0, len(texts), samples)]


def _decoding(temperature: float, top_p: float) -> dict[str, Any]:
    # said in full: Qwen's own generation_config.json penalises repetitions, which radiology is full of
    plain = {"num_beams": 1, "repetition_penalty": 1.0}
    if temperature == 0:
        return {**plain, "do_sample": False}
    # top_k 0 switches off transformers' default of 50, which is no part of nucleus sampling
    return {**plain, "do_sample": True, "temperature": temperature, "top_p": top_p, "top_k": 0}
