"""Policies on disk: a folder as transformers writes it, loaded without running any code that came with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import AutoTokenizer, GenerationConfig, PreTrainedModel
from transformers.processing_utils import ProcessorMixin

from radrl.policy import families
from radrl.policy.family import Family, never_write
from radrl.storage import complete_weights, pointers

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True, slots=True)
class Policy:
    """A report writer: the model and the processor that feeds it."""

    model: PreTrainedModel
    processor: ProcessorMixin


def load(folder: Path, *, dtype: str = "float32", device: str | torch.device = "cpu") -> Policy:
    """Load a folder of a known family: one that `save` wrote, or one as its owners publish it.

    Args:
        folder: holds config.json, safetensors weights, tokenizer and preprocessor_config.json.
        dtype: a key of `DTYPES`.
        device: where it computes, of `radrl.process.devices.place`.

    Returns:
        The policy in evaluation mode.

    Raises:
        FileNotFoundError: when the folder, one of its parts or a file that its pointer lists is missing.
        ValueError: when the folder holds another kind of model or weights that are not safetensors, asks for
            what its family cannot do, or points at weights that have changed.
        radrl.storage.complete_weights.WeightsError: when weights are not all there, or are no numbers.
    """
    folder = pointers.resolve(folder, stage="policy")
    family = _check(folder)
    family.check_dtype(dtype)
    model = complete_weights.load(family.model_class(), folder, device=device, dtype=DTYPES[dtype])
    processor = _processor(folder, family, model)
    family.ready(model)
    return Policy(model.eval(), processor)


def outline(folder: Path, *, dtype: str = "float32") -> Policy:
    """A policy without its weights: how it is asked and how it ends, for engines that load them themselves.

    Args:
        folder: as `load` takes it, but no pointer.
        dtype: a key of `DTYPES`.

    Returns:
        The policy, its model on torch's device `meta`.

    Raises:
        FileNotFoundError, ValueError: as `load`.
    """
    family = _check(folder)
    family.check_dtype(dtype)
    kind = family.model_class()
    with torch.device("meta"):
        model = kind(kind.config_class.from_pretrained(folder, local_files_only=True))
    if (folder / "generation_config.json").is_file():
        model.generation_config = GenerationConfig.from_pretrained(folder, local_files_only=True)
    return Policy(model.eval(), _processor(folder, family, model))


def check_weights(folder: Path, *, numbers: bool = True) -> None:
    """Refuse weights that `load` would refuse, for an engine that loads them itself.

    Args:
        folder: as `load` takes it, but no pointer; config.json and weights will do.
        numbers: whether those are looked at too, for which the files are read.

    Raises:
        radrl.storage.complete_weights.WeightsError: as `load`.
    """
    complete_weights.check(families.family_of_folder(folder).model_class(), folder, numbers=numbers)


def ends(policy: Policy) -> list[int]:
    """The tokens that end what a policy writes: a published Qwen has several."""
    own = policy.model.generation_config.eos_token_id
    return list(own) if isinstance(own, list) else [own]


def _processor(folder: Path, family: Family, model: PreTrainedModel) -> ProcessorMixin:
    """A policy's processor; the model is told which tokens it never writes."""
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    processor = family.processor(folder, tokenizer, model)
    never_write(model, [getattr(model.config, mark) for mark in family.marks])
    return processor


def save(policy: Policy, folder: Path) -> None:
    """Write a policy so that `load`, transformers and vLLM can read it.

    Args:
        policy: what to write.
        folder: an existing folder.
    """
    policy.model.save_pretrained(folder)
    # a trainer that saved the processor left its class' name, which is ours: others would look for it in vain
    policy.processor.tokenizer._set_processor_class(None)
    policy.processor.tokenizer.save_pretrained(folder)
    policy.processor.image_processor.save_pretrained(folder)


def write_pointer(weights: Path, folder: Path) -> None:
    """Make a policy folder that points at local weights instead of copying gigabytes.

    Args:
        weights: a complete folder of a known family.
        folder: an existing folder; gets a file with the path and the SHA-256 of every file of the weights but
            the model card.

    Raises:
        FileNotFoundError: when the weights are no complete folder.
        radrl.storage.complete_weights.WeightsError: as `load`.
    """
    _check(weights)
    check_weights(weights)
    # a model card may be reworded: it changes nothing that is loaded
    files = [file for file in sorted(weights.iterdir()) if file.is_file() and file.suffix != ".md"]
    pointers.pointing(weights, files)(folder)


def _check(folder: Path) -> Family:
    if not folder.is_dir():
        raise FileNotFoundError(f"no policy at {folder}: run the stage that writes it, or set policy.path")
    known = families.family_of_folder(folder) if (folder / "config.json").is_file() else families.FIRST
    for part in ("config.json", "tokenizer_config.json", "preprocessor_config.json"):
        if not (folder / part).is_file():
            raise FileNotFoundError(f"{folder} is no complete {known.name} folder: {part} is missing")
    if not any(folder.glob("*.safetensors")):
        raise ValueError(f"{folder} has no *.safetensors: other weight files can run code and are not loaded")
    return known
