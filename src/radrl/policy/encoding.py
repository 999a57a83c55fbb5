"""From films and texts to the tensors a policy is trained on or generates from."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import chain
from typing import Any

import torch
from PIL import Image
from transformers import BatchFeature, PreTrainedTokenizerBase
from transformers.processing_utils import ProcessorMixin

from radrl.policy import families
from radrl.policy.folder import Policy

IGNORED = -100
"""Label of a position that carries no loss, transformers' convention."""


Films = Sequence[bytes]
"""The films of one sample as PNG bytes: one, or all of a study."""


def decode_film(png: bytes) -> Image.Image:
    """A film of the corpus as the three-channel picture that image processors expect."""
    return Image.open(io.BytesIO(png)).convert("RGB")


def decode_films(films: Films) -> list[Image.Image]:
    """The films of one sample as pictures."""
    return [decode_film(film) for film in films]


def chat(prompt: str, films: int = 1) -> list[dict[str, Any]]:
    """The one-turn conversation that asks for a report; the films go before the words."""
    return [{"role": "user", "content": [{"type": "image"}] * films + [{"type": "text", "text": prompt}]}]


def prompt_text(processor: ProcessorMixin, prompt: str, films: int = 1) -> str:
    """The request for a report as the policy reads it, with one mark a film."""
    text: str = processor.apply_chat_template(chat(prompt, films), add_generation_prompt=True, tokenize=False)
    return text


def encode_prompts(
    processor: ProcessorMixin, films: Sequence[Sequence[Image.Image]], prompts: Sequence[str]
) -> BatchFeature:
    """Encode the request for a report on each sample.

    Args:
        processor: the policy's.
        films: the pictures of B samples, one or more each.
        prompts: B instructions.

    Returns:
        The processor's tensors for B prompts, left-padded.
    """
    text = [prompt_text(processor, prompt, len(own)) for prompt, own in zip(prompts, films, strict=True)]
    return processor(text=text, images=list(chain(*films)), padding=True, return_tensors="pt")


def encode_examples(
    processor: ProcessorMixin,
    films: Sequence[Sequence[Image.Image]],
    reports: Sequence[str],
    prompts: Sequence[str],
    max_tokens: int,
) -> dict[str, torch.Tensor]:
    """Encode prompts with the reports that should follow; only the reports carry loss.

    Args:
        processor: the policy's.
        films: the pictures of B samples.
        reports: B reference reports.
        prompts: B instructions.
        max_tokens: longer reports are cut here; the prompt and its image tokens never are.

    Returns:
        The prompt's tensors extended by T report tokens on the right, with `labels` (B, P + T).
    """
    batch = dict(encode_prompts(processor, films, prompts))
    ids, mask = encode_targets(processor.tokenizer, reports, max_tokens)
    prompt_labels = torch.full_like(batch["input_ids"], IGNORED)
    batch["labels"] = torch.cat([prompt_labels, ids.masked_fill(mask == 0, IGNORED)], dim=1)
    batch["input_ids"] = torch.cat([batch["input_ids"], ids], dim=1)
    batch["attention_mask"] = torch.cat([batch["attention_mask"], mask], dim=1)
    kinds = families.kinds(batch)
    batch[kinds] = torch.cat([batch[kinds], torch.zeros_like(ids)], dim=1)
    return batch


def encode_targets(
    tokenizer: PreTrainedTokenizerBase, reports: Sequence[str], max_tokens: int | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Encode what should be written, with the token that ends it.

    Args:
        tokenizer: the policy's.
        reports: N texts.
        max_tokens: longer ones are cut here, the end included; nothing for none.

    Returns:
        Tokens padded on the right, and which of them are no padding, both of shape (N, T).
    """
    longest = None if max_tokens is None else max_tokens - 1
    # a report goes on from its prompt: what begins a text has no place before it
    ids_of = [tokenizer(report, add_special_tokens=False)["input_ids"] for report in reports]
    targets = [[*own[:longest], tokenizer.eos_token_id] for own in ids_of]
    ids = torch.full((len(targets), max(map(len, targets))), tokenizer.pad_token_id)
    mask = torch.zeros_like(ids)
    for row, target in enumerate(targets):
        ids[row, : len(target)] = torch.tensor(target)
        mask[row, : len(target)] = 1
    return ids, mask


def merged_tokens(policy: Policy, films: Sequence[bytes]) -> list[torch.Tensor]:
    """What the vision tower and the projector make of films: the tokens that the language model is shown.

    Args:
        policy: its tower looks, with a graph where gradients are asked for.
        films: N films as PNG bytes, of any sizes.

    Returns:
        The tokens of each film, shape (tokens, hidden).
    """
    family = families.family_of_model(policy.model)
    return family.film_tokens(policy.model, policy.processor, [decode_film(film) for film in films])
