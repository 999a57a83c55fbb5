"""Which weights of a policy train."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from peft import LoraConfig, PeftModel, get_peft_model
from transformers import PreTrainedModel

VISION_TOWER = "model.visual."


def prepare(model: PreTrainedModel, tunes: str, lora: Mapping[str, Any]) -> PreTrainedModel | PeftModel:
    """Freeze what must not move, or wrap the model in adapters.

    Args:
        model: a Qwen2.5-VL.
        tunes: ``"vision"`` trains the vision encoder and the projector, which Qwen keeps in one module
            (DEER's cold start); ``"language"`` the rest; ``"full"`` everything; ``"lora"`` low-rank adapters.
        lora: rank, alpha, dropout, targets; read for ``"lora"`` alone.

    Returns:
        The model to hand to a trainer.

    Raises:
        ValueError: when no weight would train.
    """
    if tunes == "lora":
        return get_peft_model(model, lora_config(lora))
    for name, weight in model.named_parameters():
        part = "vision" if name.startswith(VISION_TOWER) else "language"
        weight.requires_grad_(tunes in ("full", part))
    if not any(weight.requires_grad for weight in model.parameters()):
        raise ValueError(f"tunes: {tunes!r} leaves no weight of {type(model).__name__} to train")
    return model


def lora_config(lora: Mapping[str, Any]) -> LoraConfig:
    """PEFT's configuration from the keys of params.yaml."""
    return LoraConfig(
        r=lora["rank"],
        lora_alpha=lora["alpha"],
        lora_dropout=lora["dropout"],
        target_modules=list(lora["targets"]),
        task_type="CAUSAL_LM",
    )


def finished(model: PreTrainedModel | PeftModel) -> PreTrainedModel:
    """The plain model after training: adapters merged, so that every policy folder loads alike."""
    plain = model.merge_and_unload() if isinstance(model, PeftModel) else model
    plain.requires_grad_(True)
    return plain.eval()
