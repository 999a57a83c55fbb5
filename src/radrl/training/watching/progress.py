"""What is said and shown while a policy trains: findings as they come, numbers beside the bar, rollouts.

Training does not know of it: whoever starts one hands `observers` in, so that another finding, or another
word for one, trains nothing again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tqdm.contrib.logging import logging_redirect_tqdm
from transformers import ProgressCallback, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from radrl.storage.whole_files import whole_file
from radrl.training.callbacks import SUMMARY, history, numbers
from radrl.training.watching.diagnosis import Finding, diagnose
from radrl.training.watching.history_rows import WINDOW
from radrl.training.watching.mends import Arm
from radrl.training.watching.rollouts import read_rows, table
from radrl.training.watching.rollouts_page import render

logger = logging.getLogger(__name__)

BESIDE_THE_BAR = ("reward", "kl", "entropy")

PAGE: Final = "rollouts.html"
"""In the workspace while an arm trains; the stage compare draws the one that stays."""
MEANWHILE: Final = (
    "Written while this arm trains. It shows films and reports of the corpus: where they are patients', it "
    "may not be passed on."
)

Pictures = Callable[[Sequence[str]], Mapping[str, Sequence[bytes]]]
"""Films as PNG by sample_id."""


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


class RolloutsPage(TrainerCallback):
    """Draws the rollouts that `radrl.training.watching.rollouts` has noted, after which it has to come.

    Args:
        pictures: reads films.
        keep: handed the page each time.
    """

    def __init__(self, pictures: Pictures, keep: Callable[[Path], None] | None = None) -> None:
        self.pictures, self.keep = pictures, keep
        self.told = False

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> None:
        """Called by the trainer after each logging step."""
        workspace = Path(args.output_dir)
        if logs is None or SUMMARY in logs or not state.is_world_process_zero:
            return
        noted = table(read_rows(workspace))
        if noted.empty or noted["update"].iloc[-1] != state.global_step:
            return
        films = self.pictures(noted["sample_id"].unique().tolist())
        text = render(noted, films, arm=workspace.name, banner=MEANWHILE)
        with whole_file(workspace / PAGE) as stream:
            stream.write(text.encode())
        if not self.told:
            _say(logging.INFO, f"rollouts to look at, drawn anew as training goes on: {workspace / PAGE}")
        self.told = True
        if self.keep is not None:
            self.keep(workspace / PAGE)


def observers(
    arm: Arm | None, pictures: Pictures, keep: Callable[[Path], None] | None = None
) -> list[TrainerCallback]:
    """What looks on while an arm trains, and changes nothing of it.

    Args:
        arm: its entry under `arms`.
        pictures: reads films.
        keep: handed the page of rollouts each time that it is drawn.

    Returns:
        Callbacks for the trainer.
    """
    return [Diagnosis(arm), Bar(), RolloutsPage(pictures, keep)]


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
