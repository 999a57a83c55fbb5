"""Settings that the schema cannot judge, checked before weights are loaded."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from radrl.storage import pointers


class SettingsError(ValueError):
    """A setting does not fit the data, the policy or the machine; the message names its key and the mend."""


def check_training(settings: Mapping[str, Any], own: Mapping[str, Any], *, films: int, policy: Path) -> None:
    """Refuse what would fail once an arm's policy is loaded, or train nothing.

    Args:
        settings: the keys of `radrl.params.training.Training`.
        own: those of them that are the arm's own, for the message.
        films: the size of the arm's subset.
        policy: the folder that training starts from.

    Raises:
        SettingsError: naming the first key that does not fit.
    """

    def key(name: str) -> str:
        return ("the arm's " if name in own else "") + f"training.{name}"

    check_films(films, settings)
    if settings["bf16"]:
        check_bfloat16(key("bf16"))
    if settings["tunes"] == "lora":
        check_targets(policy, settings["lora"]["targets"], key("lora"))


def check_films(films: int, settings: Mapping[str, Any]) -> None:
    """Refuse a subset with fewer films than a step takes; the trainer would end at once, untrained.

    Raises:
        SettingsError: with both counts.
    """
    if films < settings["prompts_per_step"]:
        raise SettingsError(
            f"the arm's subset has {films} films, a step takes {settings['prompts_per_step']}; "
            "lower training.prompts_per_step or choose a larger subset"
        )


def check_bfloat16(key: str) -> None:
    """Refuse mixed precision in bfloat16 where no GPU computes in it, as the trainer would.

    Raises:
        SettingsError: naming the key.
    """
    from transformers.utils import is_torch_bf16_gpu_available

    if not is_torch_bf16_gpu_available():
        raise SettingsError(
            f"{key} is true, but this machine has no GPU that computes in bfloat16; set it to false"
        )


def check_targets(policy: Path, targets: list[str], key: str) -> None:
    """Refuse a LoRA target that names no linear layer; PEFT passes over it where another one does.

    Args:
        policy: a policy's folder; its configuration alone is read.
        targets: names of layers, or their last parts, as PEFT matches them.
        key: of the section `lora`.

    Raises:
        SettingsError: naming the first such target, the nearest name and the layers there are.
    """
    layers = linear_layers(policy)
    for target in targets:
        if not any(layer == target or layer.endswith(f".{target}") for layer in layers):
            names = sorted({layer.rpartition(".")[2] for layer in layers})
            close = difflib.get_close_matches(target, names, n=1)
            guess = f"; did you mean {close[0]!r}?" if close else "."
            raise SettingsError(
                f"{key}.targets: {target!r} is no linear layer of the policy{guess} Its layers: "
                f"{', '.join(names)}"
            )


def linear_layers(policy: Path) -> list[str]:
    """Names of a policy's linear layers, from its configuration, without its weights.

    Args:
        policy: the folder of a Qwen2.5-VL, or one that points at it.
    """
    import torch
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

    config = Qwen2_5_VLConfig.from_pretrained(pointers.target(policy), local_files_only=True)
    with torch.device("meta"):
        model = Qwen2_5_VLForConditionalGeneration(config)
    return [name for name, module in model.named_modules() if isinstance(module, torch.nn.Linear)]
