"""A trainer run to its end, alone or as one of several processes, from the last checkpoint there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from radrl.policy.folder import Policy
from radrl.storage import complete_weights
from radrl.training import shards, tuning
from radrl.training.callbacks import history
from radrl.training.checkpoints import Seals, accept_indexed_cpu, last_checkpoint, restore_best

TOO_SMALL: Final = "Set policy.dtype to bfloat16 or float32: float16 is too small for its weights"
"""What is left where all numbers of its folder are finite."""


def trained(
    trainer: Any, policy: Policy, *, tunes: str, workspace: Path, keep_best: bool = False
) -> tuple[Policy, list[dict[str, float]]]:
    """Train, and put the policy together.

    Args:
        trainer: of transformers or TRL, that has not trained yet.
        policy: whose model it trains, perhaps under adapters.
        tunes: see `radrl.training.tuning.freeze`.
        workspace: its checkpoints.
        keep_best: whether the weights of its best look are handed on, in place of the last ones
            (`radrl.training.watching.early_stopping`).

    Returns:
        The trained policy, in float32, whole in the first process; and its training curve.

    Raises:
        radrl.training.preflight.SettingsError: when processes share weights in a way that is refused, or not
            as those that wrote the last checkpoint.
        radrl.training.checkpoints.CheckpointError: when the checkpoint of the best look is not what was
            written.
        radrl.storage.complete_weights.WeightsError: when the checkpoint is not all there, or it, the policy
            or its frozen start holds what is no number.
    """
    accelerator, kind = trainer.accelerator, type(policy.model)  # which parting the weights changes
    shards.check(accelerator, tunes, keep_best=keep_best)
    trainer.add_callback(Seals())
    last = last_checkpoint(workspace) if accelerator.is_main_process else None
    checkpoint = shards.of_first(accelerator, last)
    shards.check_checkpoint(accelerator, checkpoint)
    for who, own in (("policy", trainer.model), ("frozen start", getattr(trainer, "ref_model", None))):
        if own is not None:
            complete_weights.check_numbers(own, f"the {who}, as it is cast to train,", mend=TOO_SMALL)
    accept_indexed_cpu()
    # a text: accelerate looks for a name in it before it is a path
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    if keep_best:
        restore_best(trainer, workspace)
    whole = shards.gathered(accelerator, accelerator.unwrap_model(trainer.model), kind)
    return Policy(tuning.finished(whole), policy.processor), history(trainer.state)
