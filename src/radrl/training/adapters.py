"""Which layers of a policy get adapters: globs over the paths of its linear layers.

A whole path says which part of the policy a layer belongs to. The last part of it does not: in Qwen2.5-VL
`up_proj` is a layer of the language model and of the vision encoder alike, and the encoder's attention is
called otherwise (`qkv`, `proj`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

import torch

from radrl.policy import families

PARTS: Final[Mapping[str, str]] = families.FIRST.parts
"""The parts of a Qwen2.5-VL that have linear layers, as globs; other families have their own."""
HEAD: Final = "lm_head"
"""Never adapted: it may be the embedding's weights, which merging would change as well."""


def linear_layers(model: torch.nn.Module) -> list[str]:
    """Paths of the linear layers that can be adapted.

    Args:
        model: a policy's without adapters, with weights or on the device `meta`.
    """
    linear = (name for name, module in model.named_modules() if isinstance(module, torch.nn.Linear))
    return [name for name in linear if name != HEAD]


def chosen(layers: Sequence[str], targets: Sequence[str]) -> list[str]:
    """The layers that globs hit.

    Args:
        layers: paths of linear layers.
        targets: globs over whole paths; `*` stands for any characters, dots included.

    Returns:
        Paths in the order of `layers`.

    Raises:
        ValueError: when a glob hits none, with the nearest paths.

    Example:
        >>> chosen(["a.0.mlp.up", "a.1.mlp.up", "b.0.mlp.up"], ["a.*.mlp.*"])
        ['a.0.mlp.up', 'a.1.mlp.up']
    """
    for target in targets:
        if not any(fnmatchcase(layer, target) for layer in layers):
            raise ValueError(_no_layer(layers, target))
    return [layer for layer in layers if any(fnmatchcase(layer, target) for target in targets)]


def by_part(layers: Sequence[str], parts: Mapping[str, str] = PARTS) -> dict[str, int]:
    """How many of some layers belong to each part of a policy, by the names of a family's parts."""
    return {part: sum(fnmatchcase(layer, glob) for layer in layers) for part, glob in parts.items()}


def _no_layer(layers: Sequence[str], target: str) -> str:
    """What is said of a glob that hits no layer: the paths it may have meant."""
    shapes = sorted({re.sub(r"\.\d+(?=\.|$)", ".*", layer) for layer in layers})
    ending = [shape for shape in shapes if shape.endswith(f".{target}")]
    if ending:
        meant = " or ".join(map(repr, ending))
        return f"{target!r} is the end of a path; targets are globs over whole paths: write {meant}"
    close = difflib.get_close_matches(target, shapes, n=2)
    guess = f"; did you mean {' or '.join(map(repr, close))}?" if close else "."
    return f"{target!r} hits no linear layer of the policy{guess} Its layers: {', '.join(shapes)}"
