"""Families of vision-language models: what each has of its own, which everything else asks for.

Those that are known are found by the `model_type` of config.json.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any, Final

from transformers import PreTrainedConfig

from radrl.policy.family import Family
from radrl.policy.gemma import Gemma3
from radrl.policy.qwen import Qwen3VL, Qwen25VL

FAMILIES: Final[Mapping[str, Family]] = {
    family.model_type: family for family in (Qwen25VL(), Qwen3VL(), Gemma3())
}

FIRST: Final = FAMILIES["qwen2_5_vl"]
"""That the laptop's policy is of, and the papers' policies are."""

KINDS: Final = tuple(dict.fromkeys(family.kinds for family in FAMILIES.values()))
"""The inputs that mark the tokens of films, of one family or another."""


def family_of_model(model: Any) -> Family:
    """The family of a model without wrappers."""
    return FAMILIES[model.config.model_type]


def family_of_folder(folder: Path) -> Family:
    """The family of a policy's folder, by its config.json.

    Raises:
        ValueError: naming the families that are known, when it is another.
    """
    kind = PreTrainedConfig.get_config_dict(folder, local_files_only=True)[0].get("model_type")
    if kind not in FAMILIES:
        known = ", ".join(f"{name!r} ({family.name})" for name, family in FAMILIES.items())
        raise ValueError(f"{folder}/config.json says model_type {kind!r}; radrl trains {known}")
    return FAMILIES[kind]


def kinds(inputs: Container[str]) -> str:
    """The name among some inputs of the one that marks the tokens of films."""
    return next(name for name in KINDS if name in inputs)
