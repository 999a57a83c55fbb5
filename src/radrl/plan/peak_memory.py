"""What a stage holds at its fullest: an update, the optimizer's step or a generation, bytes item by item."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from radrl.plan import memory
from radrl.plan.counts import Sample, groups
from radrl.plan.hours import Card
from radrl.plan.memory import FLOAT, GIB, Part, Setting, Sizes, Weights
from radrl.policy.writer import Vllm
from radrl.training import batches
from radrl.training.preflight import SettingsError

CHEXBERT: Final = 110_000_000
"""Weights of a CheXbert, about: bert-base-uncased and fourteen heads."""
DRAWING: Final = 24
"""Bytes an entry of the vocabulary while a token is drawn: logits, by temperature, probabilities and their
nucleus in float32, their running sum in float64 (`radrl.policy.decoding`)."""


COPIES: Final = {True: 2, False: 5}
"""Of each rollout's film as patches, on an accelerator and on a CPU: whole and in a step's parts, and there
also what the processor makes of them, which is the machine's own memory beside an accelerator. The numbers
of a CPU, here and of `LESSONS`, were chosen by bench/plan_memory.py."""
LESSONS: Final = {True: 1, False: 4}
"""The same of a supervised step's films."""


@dataclass(frozen=True, slots=True)
class Model:
    """A policy as a stage has it.

    Args:
        sizes: of its parts.
        weights: how many, and which train.
        adapted: of tower and language model, widths of the inputs of adapted products, and their number.
        rank: of adapters.
    """

    sizes: Sizes
    weights: Weights
    adapted: Mapping[str, tuple[int, int]]
    rank: int = 0


Items = dict[str, int]
"""Bytes by what they are of."""


def of_training(
    model: Model, own: Setting, settings: Mapping[str, Any], sample: Sample, *, tunes: str, labeler: int = 0
) -> dict[str, Items]:
    """A training with rewards.

    Args:
        model: the policy.
        own: how it trains.
        settings: the keys of `radrl.params.training.Training`.
        sample: as the arm's prompt makes it; a report is taken to be as long as it may.
        tunes: what trains.
        labeler: weights of what reads reports beside the policy.

    Returns:
        By moment what is held then.

    Raises:
        radrl.training.preflight.SettingsError: when processes cannot share a step.
    """
    parts = batches.of_rollouts(settings, own.processes)
    share, longest = parts.size * parts.number, int(settings["max_new_tokens"])
    films = max(groups(i * parts.size, parts.size, settings["rollouts"]) for i in range(parts.number))
    always = memory.persistent_bytes(model.weights, own) | {
        "labeler": FLOAT * labeler,
        "films": COPIES[own.accelerator] * share * sample.patches * model.sizes.values * FLOAT,
        **memory.between(model.weights, own),
    }
    whole_head = parts.size * longest * model.sizes.vocabulary <= memory.MOST_LOGITS
    tokens = films * sample.prompt + parts.size * longest
    activations = of_passes(model, own, films * sample.patches, tokens, tunes=tunes)
    layers = 1 if own.checkpointing else model.sizes.language.layers
    activations += layers * memory.prompts_again(
        model.sizes.language,
        parts.size,
        sample.prompt + longest,
        product_bytes=own.product_bytes,
    )
    update = {
        **always,
        "autocast": memory.autocast(model.weights, own, head=whole_head),
        "gradients": memory.gradients(model.weights, own),
        "activations": activations,
        "logits": _logits(model, own, parts.size * longest),
    }
    own_films = groups(0, share, settings["rollouts"])
    generation = {
        **always,
        "autocast": memory.autocast(model.weights, own, learns=False),
        **of_generation(model, own, sample, films=own_films, rows=share, longest=longest),
    }
    moments = {"update": update, "step": _step(always, model, own), "generation": generation}
    return moments | (_asking(always, model, own, tokens) if own.start_leaves else {})


def of_fine_tuning(
    model: Model, own: Setting, settings: Mapping[str, Any], sample: Sample, *, tunes: str, section: str
) -> dict[str, Items]:
    """A supervised training.

    Args:
        model: the policy.
        own: how it trains.
        settings: the keys of `radrl.params.policy.Supervised`.
        sample: as the prompt makes it.
        tunes: what trains.
        section: where the settings stand.

    Returns:
        By moment what is held then.

    Raises:
        radrl.training.preflight.SettingsError: when processes cannot share a step.
    """
    size = batches.of_examples(settings, own.processes, section=section).size
    tokens = size * (sample.prompt + int(settings["max_tokens"]))
    always = memory.persistent_bytes(model.weights, own) | {
        "films": LESSONS[own.accelerator] * size * sample.patches * model.sizes.values * FLOAT,
        **memory.between(model.weights, own),
    }
    copies = memory.logits(tokens, model.sizes.vocabulary, copies=memory.LESSON_COPIES)
    update = {
        **always,
        "autocast": memory.autocast(model.weights, own),
        "gradients": memory.gradients(model.weights, own),
        "activations": of_passes(model, own, size * sample.patches, tokens, tunes=tunes),
        "logits": copies + (2 * tokens * model.sizes.vocabulary if own.autocast else 0),
    }
    return {"update": update, "step": _step(always, model, own)}


def of_reports(model: Model, own: Setting, sample: Sample, *, films: int, rows: int, longest: int) -> Items:
    """A stage that only writes: the policy in the dtype of what does not train, and a batch.

    Args:
        model: the policy.
        own: how it computes.
        sample: as the prompt makes it.
        films: of a batch.
        rows: reports of a batch.
        longest: tokens of a report.
    """
    policy = {"weights": own.frozen_bytes * model.weights.all}
    pictures = {"films": films * sample.patches * model.sizes.values * FLOAT}
    return policy | pictures | of_generation(model, own, sample, films=films, rows=rows, longest=longest)


def of_generation(
    model: Model, own: Setting, sample: Sample, *, films: int, rows: int, longest: int
) -> Items:
    """What writing a batch takes beside the policy: the cache, the reading of prompts, the draw of tokens."""
    language, width = model.sizes.language, _residual(model, own)
    products = 2 if own.autocast else own.frozen_bytes if not model.weights.trained else FLOAT
    prompts = memory.cache(language, films * sample.prompt, key_bytes=products, value_bytes=products)
    # under autocast rotary positions leave keys in the width of what goes from layer to layer
    reports = memory.cache(language, rows * longest, key_bytes=max(products, width), value_bytes=products)
    reading = max(
        films * sample.patches * _passing(model.sizes.tower, products),
        films * sample.prompt * _passing(language, products),
    )
    drawing = rows * model.sizes.vocabulary * DRAWING
    return {"cache": prompts + reports, "activations": reading, "logits": drawing}


def of_passes(model: Model, own: Setting, patches: int, tokens: int, *, tunes: str) -> int:
    """Activations of a forward pass that is learned from, those of the tower included; an estimate."""
    return _of_part(model, own, "vision", patches, tunes) + _of_part(model, own, "language", tokens, tunes)


def _of_part(model: Model, own: Setting, name: str, tokens: int, tunes: str) -> int:
    part = model.sizes.tower if name == "vision" else model.sizes.language
    width, number = model.adapted.get(name, (0, 0))
    learns = tunes in ("full", name)
    if name == "vision" and not learns and not number:
        # nothing before the language model learns, so nothing is kept: one layer passes
        return tokens * _passing(part, own.product_bytes)
    residual = own.product_bytes if name == "vision" else _residual(model, own)
    kept = memory.saved_bytes(part, product_bytes=own.product_bytes, residual_bytes=residual, trains=learns)
    if number:
        rows = width // part.layers, model.rank, number // part.layers
        kept += memory.adapters_kept(*rows, product_bytes=own.product_bytes)
    return memory.activations(
        part.layers,
        kept,
        tokens,
        boundary=residual * part.hidden,
        checkpointing=own.checkpointing,
    )


def _passing(part: Part, product_bytes: int) -> int:
    """Bytes a token while a layer computes without learning: its width, attention, what it feeds forward."""
    return product_bytes * (3 * part.feed_forward + 3 * part.heads) + 3 * FLOAT * part.hidden


def _residual(model: Model, own: Setting) -> int:
    """Bytes of what goes from layer to layer: as the embedding is."""
    return FLOAT if model.weights.trained_embedding else own.frozen_bytes


def _logits(model: Model, own: Setting, tokens: int) -> int:
    if tokens * model.sizes.vocabulary <= memory.MOST_LOGITS:
        return memory.logits(tokens, model.sizes.vocabulary, copies=memory.LOGIT_COPIES)
    trains = bool(model.weights.trained_embedding)
    return memory.tiled(tokens, model.sizes, product_bytes=own.product_bytes, trains=trains)


def _asking(always: Items, model: Model, own: Setting, tokens: int) -> dict[str, Items]:
    """The moment in which a start that lies on the host is on the device."""
    passing = {"activations": tokens * _passing(model.sizes.language, own.product_bytes)}
    return {"start": {**always, "frozen start": memory.start(model.weights, own), **passing}}


def _step(always: Items, model: Model, own: Setting) -> Items:
    gradients = memory.gradients(model.weights, own)
    return {**always, "gradients": gradients}


def persistent_items(model: Model, own: Setting, card: Card, vllm: Vllm, longest: int) -> Items:
    """The policy, and keys and values: what is stated for a CPU, of a GPU what weights leave of vLLM's share.

    What a reading of prompts takes beside them is in the device's reserve.

    Args:
        model: the policy.
        own: how it computes.
        card: the device.
        vllm: the section `compute.vllm`.
        longest: tokens of a prompt with the longest report.

    Raises:
        radrl.training.preflight.SettingsError: when a GPU's share has no room for one report.
    """
    weights = own.frozen_bytes * model.weights.all
    if card.name == "cpu":
        return {"weights": weights, "cache": vllm.cpu_cache * GIB}
    memory_bytes, share = (card.memory_gib or 0.0) * GIB, vllm.gpu_memory
    needs = weights + of_a_report(model, own, longest)
    if needs > share * memory_bytes:
        least = math.ceil(100 * needs / memory_bytes) / 100
        raise SettingsError(
            f"compute.vllm.gpu_memory is {share:g}, {share * memory_bytes / GIB:.1f} GiB of a {card.name}, "
            f"and the policy with one report takes {needs / GIB:.1f}; set it to {least:g} or more"
        )
    return {"weights": weights, "cache": int(share * memory_bytes) - weights}


def of_a_report(model: Model, own: Setting, tokens: int) -> int:
    """Keys and values of so many tokens, a prompt and its report, where nothing trains."""
    width = own.frozen_bytes
    return memory.cache(model.sizes.language, tokens, key_bytes=width, value_bytes=width)
