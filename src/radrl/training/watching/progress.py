"""What is said while a policy trains: findings as they come, and a few numbers beside the bar.

Training does not know of it: whoever starts one hands `observers` in, so that another finding, or another
word for one, trains nothing again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from tqdm.contrib.logging import logging_redirect_tqdm
from transformers import ProgressCallback, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from radrl.training.callbacks import SUMMARY, history, numbers
from radrl.training.watching.diagnosis import Finding, diagnose
from radrl.training.watching.history_rows import WINDOW
from radrl.training.watching.mends import Arm

logger = logging.getLogger(__name__)

BESIDE_THE_BAR = ("reward", "kl", "entropy")


class Diagnosis(TrainerCallback):
    """Says what goes wrong while it goes wrong, each finding once.

    Args:
        arm: its entry under `arms`, so that no mend names what it has; without it all are named.
    """

    def __init__(self, arm: Arm | None = None) -> None:
        self.arm = arm
        self.told: set[str] = set()

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> None:
        """Called by the trainer after each logging step."""
        if logs is not None and SUMMARY not in logs and state.global_step % WINDOW == 0:
            self._tell(state, ended=False)

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Called by the trainer at its end."""
        found = self._tell(state, ended=True)
        if found and state.is_world_process_zero:
            names = ", ".join(f"{finding.name} ({finding.severity})" for finding in found)
            _say(logging.WARNING, f"training ended with {names}")

    def _tell(self, state: TrainerState, *, ended: bool) -> list[Finding]:
        found = diagnose(history(state), self.arm, ended=ended)
        new = [finding for finding in found if finding.name not in self.told]
        self.told |= {finding.name for finding in new}
        for finding in new if state.is_world_process_zero else ():
            level = logging.INFO if finding.severity == "note" else logging.WARNING
            _say(level, f"step {state.global_step}: {finding}")
        return found


def observers(arm: Arm | None) -> list[TrainerCallback]:
    """What looks on while an arm trains, and changes nothing of it.

    Args:
        arm: its entry under `arms`.

    Returns:
        Callbacks for the trainer.
    """
    return [Diagnosis(arm), Bar()]


def _say(level: int, message: str) -> None:
    with logging_redirect_tqdm():  # above the progress bar, not through it
        logger.log(level, message)


class Bar(ProgressCallback):
    """The trainer's progress bar with a few numbers beside it, not all of them in a line a step."""

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> None:
        """Called by the trainer after each logging step."""
        if self.training_bar is not None and logs and SUMMARY not in logs:
            shown = {name: value for name, value in numbers(logs).items() if name in BESIDE_THE_BAR}
            self.training_bar.set_postfix({name: f"{value:.3f}" for name, value in shown.items()})
