"""Settings that the schema cannot judge, checked before weights are loaded."""

from __future__ import annotations

import importlib.util
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from radrl.storage import pointers
from radrl.training import length

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)


class SettingsError(ValueError):
    """A setting does not fit the data, the policy or the machine; the message names its key and the mend."""


def check_training(
    settings: Mapping[str, Any],
    own: Mapping[str, Any],
    *,
    films: int,
    policy: Path,
    device: torch.device,
    processes: int = 1,
) -> None:
    """Refuse what would fail once an arm's policy is loaded, or train nothing.

    Args:
        settings: the keys of `radrl.params.training.Training`.
        own: those of them that are the arm's own, for the message.
        films: the size of the arm's subset.
        policy: the folder that training starts from.
        device: where it trains.
        processes: that share a step.

    Raises:
        SettingsError: naming the first key that does not fit.
    """
    from radrl.training.batches import of_rollouts

    def key(name: str) -> str:
        return ("the arm's " if name in own else "") + f"training.{name}"

    check_films(films, settings)
    check_precision(settings, key, device)
    of_rollouts(settings, processes)
    check_redrawing(settings, key("dynamic_sampling"), processes)
    if settings["tunes"] == "lora":
        check_adapters(policy, settings["lora"], key("lora"), processes)


def check_supervised(
    settings: Mapping[str, Any], section: str, *, device: torch.device, processes: int = 1
) -> None:
    """Refuse what a supervised stage could not train by, before its films are read.

    Args:
        settings: the keys of `radrl.params.policy.Supervised`.
        section: where they stand in params.yaml, for the message.
        device: where it trains.
        processes: that share a step.

    Raises:
        SettingsError: naming the first key that does not fit.
    """
    from radrl.training.batches import of_examples

    check_precision(settings, f"{section}.{{}}".format, device)
    of_examples(settings, processes, section=section)


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


def check_redrawing(settings: Mapping[str, Any], key: str, processes: int) -> None:
    """Refuse to redraw groups of equal rewards where several processes share a step.

    Args:
        settings: the keys of `radrl.params.training.Training`.
        key: of `dynamic_sampling`, for the message.
        processes: that share a step.

    Raises:
        SettingsError: naming the key and the mend.
    """
    own = settings.get("dynamic_sampling")
    if own and own["mode"] == "redraw" and processes > 1:
        raise SettingsError(
            f"{key}.mode is redraw, and {processes} processes would share the step, among which what is "
            f"redrawn does not divide; set {key}.mode to drop, or start 1 process"
        )


def check_watched(watch: Mapping[str, Any] | None, films: int) -> None:
    """Refuse looks that decide about a training where there is no film to look at.

    Args:
        watch: the keys of `radrl.params.training.Watch`.
        films: validation films that there are to watch.

    Raises:
        SettingsError: naming the keys.
    """
    if length.looks_decide(watch) and not films:
        raise SettingsError(
            "training.watch has a patience or keeps the best look's weights, but the corpus has no film in "
            "the split val: give it some (ingest), or set patience to null and keep to last"
        )


def check_precision(settings: Mapping[str, Any], key: Callable[[str], str], device: torch.device) -> None:
    """Refuse mixed precision and an optimizer that this machine does not have.

    Args:
        settings: `bf16` and `optimizer` among them.
        key: the name in params.yaml of each.
        device: where it trains.

    Raises:
        SettingsError: naming the key.
    """
    if settings["bf16"]:
        check_bfloat16(key("bf16"), device)
    if settings["optimizer"] == "adamw_8bit" and importlib.util.find_spec("bitsandbytes") is None:
        raise SettingsError(
            f"{key('optimizer')} is adamw_8bit, but bitsandbytes is not installed; "
            "pip install -c constraints.txt 'bitsandbytes>=0.50', or set it to adamw"
        )


def check_adapters(policy: Path, lora: Mapping[str, Any], key: str, processes: int) -> None:
    """Refuse adapters that cannot be trained, and warn of those whose draws processes do not share.

    Args:
        policy: a policy's folder.
        lora: the keys of `radrl.params.policy.Lora`.
        key: its name in params.yaml.
        processes: that share a step.

    Raises:
        SettingsError: naming the key and the mend.
    """
    check_targets(policy, lora["targets"], key)
    check_quantised(lora, key)
    say_dropout(lora, key, processes)


def check_quantised(lora: Mapping[str, Any], key: str) -> None:
    """Refuse a base in four bits where bitsandbytes is not installed, or weights are parted among processes.

    Args:
        lora: the keys of `radrl.params.policy.Lora`.
        key: its name in params.yaml.

    Raises:
        SettingsError: naming the key and the mend.
    """
    if not lora.get("quantise"):
        return
    if importlib.util.find_spec("bitsandbytes") is None:
        raise SettingsError(
            f"{key}.quantise is {lora['quantise']}, but bitsandbytes is not installed; "
            "pip install -c constraints.txt 'bitsandbytes>=0.50', or set it to null"
        )
    if os.environ.get("ACCELERATE_USE_FSDP") == "true":
        raise SettingsError(
            f"{key}.quantise is {lora['quantise']}, but compute.config asks for FSDP, which cannot part "
            "weights in four bits; set it to null, or compute.config to conf/accelerate/ddp.yaml"
        )


def check_bfloat16(key: str, device: torch.device) -> None:
    """Refuse mixed precision in bfloat16 on a GPU that does not compute in it; a CPU does, if slowly.

    Raises:
        SettingsError: naming the key.
    """
    from transformers.utils import is_torch_bf16_gpu_available

    if device.type != "cpu" and not is_torch_bf16_gpu_available():
        raise SettingsError(f"{key} is true, but this GPU does not compute in bfloat16; set it to false")


def check_targets(policy: Path, targets: list[str], key: str) -> None:
    """Refuse a LoRA target that hits no linear layer; PEFT passes over it where another one does.

    Args:
        policy: a policy's folder; its configuration alone is read.
        targets: globs over the paths of layers.
        key: of the section `lora`.

    Raises:
        SettingsError: naming the first such target and the nearest paths.
    """
    from radrl.training.adapters import chosen

    try:
        chosen(linear_layers(policy), targets)
    except ValueError as error:
        raise SettingsError(f"{key}.targets: {error}") from None


def say_dropout(lora: Mapping[str, Any], key: str, processes: int) -> None:
    """Warn of the one thing that several processes do otherwise than one.

    Args:
        lora: dropout among its keys.
        key: of the section `lora`.
        processes: that share a step.
    """
    if processes > 1 and lora["dropout"] > 0:
        logger.warning(
            "%s.dropout is %s, and each of %d processes drops by draws of its own: compare this training "
            "with others of %d processes, or set it to 0, with which any number makes the same updates",
            key,
            lora["dropout"],
            processes,
            processes,
        )


def linear_layers(policy: Path) -> list[str]:
    """Paths of a policy's linear layers that can be adapted, from its configuration, without its weights.

    Args:
        policy: the folder of a policy, or one that points at it.
    """
    import torch

    from radrl.policy import families
    from radrl.training import adapters

    folder = pointers.target(policy)
    kind = families.family_of_folder(folder).model_class()
    config = kind.config_class.from_pretrained(folder, local_files_only=True)
    with torch.device("meta"):
        model = kind(config)
    return adapters.linear_layers(model)
