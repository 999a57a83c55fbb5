"""Policies whose weights are parted among processes (FSDP2, torch's `fully_shard`), as accelerate parts them.

Every process has to go along with each forward pass and each gathering; the first one has the whole policy at
the end.
"""

from __future__ import annotations

import copy
import os
from functools import wraps
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list
from accelerate.utils.constants import FSDP_MODEL_NAME
from transformers import PreTrainedModel

from radrl.policy import families
from radrl.policy.shared_prefill import bare
from radrl.storage.complete_weights import WeightsError, listed
from radrl.training.preflight import SettingsError


class ComputesAsWhole:
    """Mixin of a `transformers.Trainer` whose numbers do not tell whether its weights are parted.

    Left alone, accelerate casts three things to bfloat16 where a training computes in it: every weight that
    is gathered, what the model returns (losses and log-probabilities of 8 bits) and the sums of gradients.
    Here weights are gathered as they are, and autocast casts the products, as where each process has all
    weights.

    Weights are gathered layer by layer of the language model, whichever its family. Those of the vision tower
    are gathered with all the rest, not layer by layer: films of different sizes would make processes ask for
    its layers differently often.
    """

    def create_accelerator_and_postprocess(self) -> None:
        """As transformers has it; called before any weight is parted."""
        super().create_accelerator_and_postprocess()  # type: ignore[misc]
        accelerator, model = self.accelerator, self.model  # type: ignore[attr-defined]
        again = self.args.gradient_checkpointing  # type: ignore[attr-defined]
        if accelerator.native_amp and (again or accelerator.is_fsdp2):
            kind, parted = accelerator.device.type, bool(accelerator.is_fsdp2)
            cast_by_layer(bare(model).model, kind, always=parted)
        if not accelerator.is_fsdp2:
            return
        from torch.distributed.fsdp import MixedPrecisionPolicy  # here, for hardly anyone needs it

        plugin = accelerator.state.fsdp_plugin
        plugin.mixed_precision_policy = MixedPrecisionPolicy()
        plugin.transformer_cls_names_to_wrap = [families.family_of_model(model).layer]


def cast_by_layer(backbone: Any, device: str, *, always: bool = False) -> None:
    """Let autocast's copies of weights go with the layer that they are for, in passes that are learned from.

    Autocast keeps the copies of a block to its end, though layers that are computed again make their own:
    at the end of the forward pass there would be one of every weight. Where each weight is used once a pass
    nothing is cast more often, and no number changes. Passes that write use it once a token and keep them.

    Args:
        backbone: of a model, all of it but the head.
        device: the kind that it computes on.
        always: also in passes that write, for processes that hold parts of the weights and have the whole of
            them a layer at a time: kept copies would be a whole model in each.
    """
    forward = backbone.forward

    @wraps(forward)
    def uncached(*args: Any, **kwargs: Any) -> Any:
        if not (always or torch.is_grad_enabled()):
            return forward(*args, **kwargs)
        with torch.autocast(device, torch.bfloat16, cache_enabled=False):
            return forward(*args, **kwargs)

    backbone.forward = uncached


def check(accelerator: Accelerator, tunes: str, *, keep_best: bool = False) -> None:
    """Refuse an engine that is not known to train as one process does.

    Args:
        accelerator: the trainer's.
        tunes: as `radrl.training.tuning.freeze` takes it.
        keep_best: as `radrl.training.running.trained` takes it.

    Raises:
        SettingsError: naming the engine and the mend.
    """
    kind = str(accelerator.distributed_type.value)
    if os.environ.get("ACCELERATE_USE_FSDP") == "true" and kind != "FSDP":
        raise SettingsError(
            "compute.config asks for FSDP, which accelerate leaves out on CPUs without a word: each process "
            "would hold all weights; set it to conf/accelerate/cpu2.yaml, which says so, or device to cuda"
        )
    if kind in ("NO", "MULTI_CPU", "MULTI_GPU", "MULTI_XPU"):
        return
    if not accelerator.is_fsdp2:
        raise SettingsError(
            f"compute.config asks for {kind}; weights are parted by FSDP2 alone "
            "(conf/accelerate/fsdp2.yaml), or lie whole in each process (ddp.yaml)"
        )
    if tunes == "lora":
        raise SettingsError(
            "adapters train with whole weights in each process: set compute.config to "
            "conf/accelerate/ddp.yaml, or tunes to full"
        )
    if keep_best:
        raise SettingsError(
            "training.watch.keep is best, which takes up a checkpoint whose weights lie whole in each "
            "process: set compute.config to conf/accelerate/ddp.yaml, or training.watch.keep to last"
        )


def check_checkpoint(accelerator: Accelerator, checkpoint: Path | None) -> None:
    """Refuse to go on with parted weights from whole ones, or the other way round.

    Args:
        accelerator: the trainer's.
        checkpoint: that training would go on from, if there is one.

    Raises:
        SettingsError: naming the checkpoint and the mend.
    """
    if checkpoint is None:
        return
    parted = of_first(accelerator, any(checkpoint.glob(f"{FSDP_MODEL_NAME}*")))
    if parted != accelerator.is_fsdp2:
        kinds = ("whole in each process", "parted among processes (FSDP2)")
        raise SettingsError(
            f"{checkpoint} is of a training whose weights were {kinds[parted]}, and now they would be "
            f"{kinds[not parted]}: set compute.config to what it was, or delete {checkpoint.parent} to train "
            "from the start"
        )


def gathered(
    accelerator: Accelerator, model: PreTrainedModel, kind: type[PreTrainedModel]
) -> PreTrainedModel:
    """A policy whose weights are whole.

    Args:
        accelerator: the trainer's.
        model: as it trained, its weights parted or not.
        kind: the class it had before they were.

    Returns:
        In the first process the policy, on the CPU; in the others the model as it is.
    """
    if not accelerator.is_fsdp2:
        return model
    weights = accelerator.get_state_dict(model)  # by all processes, in the first one whole
    if not accelerator.is_main_process:
        return model
    config = copy.deepcopy(model.config)
    config._attn_implementation = "sdpa"  # training's own would be looked for on a hub
    with torch.device("meta"):
        whole = kind(config)
    whole.load_state_dict(weights, assign=True, strict=False)
    whole.tie_weights()  # the state has a tied weight once
    if lacking := [name for name, weight in whole.named_parameters() if weight.is_meta]:
        raise WeightsError(f"what came together of the policy lacks {listed(lacking)}: nothing is written")
    _restore_buffers(whole, model)
    whole.generation_config = model.generation_config
    return whole


def _restore_buffers(whole: PreTrainedModel, model: PreTrainedModel) -> None:
    """Give a model the buffers that no state holds: frequencies of rotary positions."""
    for name, buffer in model.named_buffers():
        owner, _, own = name.rpartition(".")
        whole.get_submodule(owner).register_buffer(own, buffer.cpu(), persistent=False)


def of_first(accelerator: Accelerator, value: Any) -> Any:
    """What the first process says: a disk that processes see later than others is no reason to part."""
    told = [value]
    broadcast_object_list(told)
    return told[0]
