"""A training ends at the first number that is none, before spoilt weights are saved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from radrl.training.callbacks import SUMMARY
from radrl.training.finite import require_finite


class Finite(TrainerCallback):
    """Ends a training at a number that is none.

    It comes after what reports a row, so that the row which ends the run is reported. The trainer saves after
    it logs, so weights that are spoilt are in no checkpoint.
    """

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> None:
        """Called by the trainer after each logging step.

        Raises:
            NotFinite: naming the step.
        """
        if logs is not None and SUMMARY not in logs:
            require_finite({**logs, "step": state.global_step})
