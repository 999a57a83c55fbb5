"""Which weights of a policy train, and in what precision.

Weights that train are float32. AdamW moves a weight by about the learning rate, and bfloat16 keeps 8 bits of
a number: at a rate of 1e-6 a weight above 2^-11 (4.9e-4) is rounded back to where it was, step after step.
What does not train may be of another dtype: a base under adapters, a part that is frozen, the frozen start.
It meets the others under autocast.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from peft.tuners.lora import LoraLayer
from transformers import PreTrainedModel

from radrl.policy import families
from radrl.policy.folder import DTYPES
from radrl.training import adapters, four_bit
from radrl.training.preflight import SettingsError

logger = logging.getLogger(__name__)


def optimizer(name: str, device: torch.device) -> str:
    """The name that transformers has for an optimizer of params.yaml.

    Torch's own AdamW computes the updates of all weights at once on a GPU, in as much memory as they take;
    its fused one does not, and rounds otherwise.

    Args:
        name: adamw or adamw_8bit.
        device: where it computes.

    Example:
        >>> [optimizer("adamw", torch.device(where)) for where in ("cpu", "cuda")]
        ['adamw_torch', 'adamw_torch_fused']
    """
    if name == "adamw_8bit":
        return "adamw_bnb_8bit"
    return "adamw_torch_fused" if device.type == "cuda" else "adamw_torch"


def prepare(
    model: PreTrainedModel, tunes: str, lora: Mapping[str, Any], dtype: str = "float32"
) -> PreTrainedModel | PeftModel:
    """Freeze what must not move, or wrap the model in adapters.

    Args:
        model: of a known family, in float32.
        tunes: see `freeze`.
        lora: rank, alpha, dropout, targets, quantise; read for ``"lora"`` alone.
        dtype: of the weights that do not train, a key of `radrl.policy.folder.DTYPES`.

    Returns:
        The model to hand to a trainer.

    Raises:
        SettingsError: when a weight that trains is not float32.
        ValueError: when no weight would train, or a target is no layer.
    """
    prepare_base(model, tunes, lora, dtype)
    if tunes != "lora":
        return model
    adapted = get_peft_model(model, lora_config(lora, model))
    check_masters(adapted)
    return adapted


def prepare_base(model: PreTrainedModel, tunes: str, lora: Mapping[str, Any], dtype: str) -> None:
    """Freeze what must not move, and hold it in four bits where adapters are to have such a base.

    Args and errors as `prepare`.
    """
    freeze(model, tunes, dtype)
    if tunes == "lora" and lora.get("quantise"):
        four_bit.quantise(model)


def freeze(model: PreTrainedModel, tunes: str, dtype: str = "float32") -> None:
    """Let some of a model's weights train and cast the others.

    Buffers (the frequencies of rotary positions) stay as they are, and tied weights tied.

    Args:
        model: of a known family, in float32, changed in place.
        tunes: ``"vision"`` trains the vision encoder and the projector, which Qwen keeps in one module
            (DEER's cold start); ``"language"`` the rest; ``"full"`` everything; ``"lora"`` none of them, only
            the adapters that are to come.
        dtype: of the weights that do not train.

    Raises:
        SettingsError: when a weight that trains is not float32.
        ValueError: when no weight would train, or the family does not compute in the dtype.
    """
    family = families.family_of_model(model)
    family.check_dtype(dtype)
    for name, weight in model.named_parameters():
        part = "vision" if name.startswith(family.vision) else "language"
        weight.requires_grad_(tunes in ("full", part))
        if not weight.requires_grad:
            weight.data = weight.data.to(DTYPES[dtype])
    if tunes != "lora" and not any(weight.requires_grad for weight in model.parameters()):
        raise ValueError(f"tunes: {tunes!r} leaves no weight of {type(model).__name__} to train")
    check_masters(model)


def check_masters(model: torch.nn.Module) -> None:
    """Refuse weights that train in fewer than 32 bits.

    Raises:
        SettingsError: naming the first such weight.
    """
    for name, weight in model.named_parameters():
        if weight.requires_grad and weight.dtype != torch.float32:
            raise SettingsError(
                f"{name} trains and is {weight.dtype}, in which a small step is rounded away; load the "
                "policy in float32 and name policy.dtype as the training's dtype: what does not train is "
                "cast to it"
            )


def lora_config(lora: Mapping[str, Any], model: PreTrainedModel) -> LoraConfig:
    """PEFT's configuration from the keys of params.yaml, with the path of each layer that is adapted.

    Args:
        lora: rank, alpha, dropout, targets.
        model: whose layers the targets choose among.

    Raises:
        ValueError: when a target hits no layer.
    """
    layers = adapters.chosen(adapters.linear_layers(model), lora["targets"])
    by_part = adapters.by_part(layers, families.family_of_model(model).parts)
    counts = ", ".join(f"{count} of {part}" for part, count in by_part.items())
    logger.info("adapters on %d linear layers: %s", len(layers), counts)
    return LoraConfig(
        r=lora["rank"],
        lora_alpha=lora["alpha"],
        lora_dropout=lora["dropout"],
        target_modules=layers,
        task_type="CAUSAL_LM",
    )


def plain_weights(model: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """A policy's weights as they are without adapters, one after another.

    Args:
        model: perhaps under adapters; left as it is.

    Yields:
        The name that a weight has in a model without adapters, and the weight, with its adapters' part added.
    """
    base = model.get_base_model() if isinstance(model, PeftModel) else model
    adapted = {name: layer for name, layer in base.named_modules() if isinstance(layer, LoraLayer)}
    for name, weight in base.named_parameters():
        path, of_base, kind = name.rpartition(".base_layer.")
        if ".lora_" in name:
            continue
        numbers = four_bit.as_numbers(weight)
        if of_base and kind == "weight" and path in adapted:
            layer = adapted[path]
            numbers = numbers.float() + sum(
                layer.get_delta_weight(own).float() for own in layer.active_adapters
            )
        yield name.replace(".base_layer.", "."), numbers


def finished(model: PreTrainedModel | PeftModel) -> PreTrainedModel:
    """The plain float32 model after training: adapters merged, so that every policy folder loads alike.

    The base is cast before it is merged with: what adapters have learnt is often less than bfloat16 tells
    apart at the size of the base's weights. It lies on the CPU: a card may hold a base in four bits alone.
    """
    model = model.to("cpu")
    if four_bit.is_quantised(model):
        four_bit.dequantise(model)
    for weight in model.parameters():
        weight.data = weight.data.float()
    plain = model.merge_and_unload() if isinstance(model, PeftModel) else model
    plain.requires_grad_(True)
    return plain.eval()
