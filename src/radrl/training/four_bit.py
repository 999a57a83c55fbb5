"""A base in four bits under adapters (QLoRA, Dettmers et al. 2023), by bitsandbytes.

The linear layers of the language model, which are four fifths of a policy of 7 B, are held as NF4 with
scales that are quantised too (section 3): 0.52 bytes a weight in place of 2. Each product has its layer's
weights in the base's dtype for a moment. Departure from the paper: nothing else is rounded, not the vision
encoder either.

What is handed on is what was trained: the rounded base as plain numbers, with the adapters' part added. The
base as it was before it was rounded would be another policy than the one that was watched.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import torch
from transformers import PreTrainedModel

KIND: Final = "nf4"
"""Of four-bit numbers: NormalFloat, whose steps hold equally many of normally distributed weights."""


def quantise(model: PreTrainedModel) -> None:
    """Hold the linear layers of a model's language model in four bits.

    Args:
        model: of a known family, without adapters, none of whose weights trains; changed in place.
    """
    import bitsandbytes as bnb

    for parent, name, layer in _children(model.model.language_model.layers, torch.nn.Linear):
        weight = bnb.nn.Params4bit(layer.weight.data, requires_grad=False, quant_type=KIND)
        rounded = bnb.nn.Linear4bit(
            layer.in_features,
            layer.out_features,
            bias=layer.bias is not None,
            compute_dtype=layer.weight.dtype,
            quant_type=KIND,
            device="meta",
        )
        rounded.weight, rounded.bias = weight, layer.bias
        # it is rounded as it is moved, if only to where it is
        setattr(parent, name, rounded.to(layer.weight.device))


def is_quantised(model: torch.nn.Module) -> bool:
    """Whether some of a model's layers are held in four bits."""
    return any(_is_rounded(module) for module in model.modules())


def as_numbers(weight: torch.Tensor) -> torch.Tensor:
    """A weight as plain numbers, whether it is held in four bits or not."""
    if getattr(weight, "quant_state", None) is None:
        return weight
    from bitsandbytes.functional import dequantize_4bit

    found: torch.Tensor = dequantize_4bit(weight.data, weight.quant_state)
    return found


@torch.no_grad()
def dequantise(model: torch.nn.Module) -> None:
    """Give a model float32 layers in place of those in four bits; adapters stay above them.

    Args:
        model: perhaps under adapters; changed in place.
    """
    for parent, name, layer in _children(model, torch.nn.Linear):
        if not _is_rounded(layer):
            continue
        plain = torch.nn.Linear(layer.in_features, layer.out_features, bias=False, device="meta")
        plain.weight, plain.bias = torch.nn.Parameter(as_numbers(layer.weight).float()), layer.bias
        setattr(parent, name, plain)


def _is_rounded(module: torch.nn.Module) -> bool:
    return hasattr(getattr(module, "weight", None), "quant_state") and module.weight.quant_state is not None


def _children(model: torch.nn.Module, kind: type[Any]) -> Iterator[tuple[torch.nn.Module, str, Any]]:
    """The modules of a kind: who holds each, by what name."""
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, kind):
                yield parent, name, child
