"""What vLLM holds of a device where it writes, or draws beside a training."""

from __future__ import annotations

import math

from radrl.plan import memory
from radrl.plan.hours import Card
from radrl.plan.memory import GIB, Setting
from radrl.plan.peaks import Items, Model
from radrl.policy.writers.sections import Vllm
from radrl.training.preflight import SettingsError


def held(model: Model, own: Setting, card: Card, vllm: Vllm, longest: int) -> Items:
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
