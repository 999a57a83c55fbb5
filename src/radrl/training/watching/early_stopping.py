"""What ends a training before its length: a number that is none, or watched films that no longer gain.

One number of the watched films decides (`training.watch.metric`): they are validation films, so that the test
films have no say in when a training ends or in which weights are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from radrl.training.callbacks import SUMMARY
from radrl.training.watching.history_rows import Row, require_finite, value_at


def best_look(rows: Sequence[Row], column: str) -> int:
    """The update after which the watched films were answered best.

    Args:
        rows: of a history.
        column: the number that decides; the higher, the better.

    Returns:
        The earliest update with the highest number. The look before the first update does not count: the
        start is no outcome of the training.

    Raises:
        ValueError: when no row of an update has the number.
    """
    looks = _looks(rows, column)
    if not looks:
        raise ValueError(f"no update has {column}: the training was not watched")
    return max(looks, key=lambda update: (looks[update], -update))


def has_run_out(rows: Sequence[Row], column: str, patience: int) -> bool:
    """Whether as many updates as patience allows have brought no better look.

    Args:
        rows: of a history up to now; the last one with the number is the latest look.
        column: the number that decides.
        patience: updates.
    """
    return max(_looks(rows, column)) - best_look(rows, column) >= patience


def _looks(rows: Sequence[Row], column: str) -> dict[int, float]:
    """The number by update, of the looks after the first."""
    known = {int(row["step"]): value_at(row, column) for row in rows}
    return {update: value for update, value in known.items() if update and value is not None}


class EarlyStopping(TrainerCallback):
    """Ends a training whose watched films no longer gain, and keeps a checkpoint of the best look.

    It has to come after `radrl.training.watching.watch.Watching`, which puts a look into its step's row.
    transformers' callback of this name follows an evaluation loop, which a look is none of. What is decided
    follows from the rows alone, which are in every checkpoint: a training that was killed and goes on ends
    where the unbroken one does, since the step at which it ends leaves no checkpoint to go on from.

    Args:
        column: of a look, the number that decides.
        patience: updates without a better look after which training ends; nothing for never.
        keep_best: whether each look that is the best so far leaves a checkpoint.
    """

    def __init__(self, column: str, patience: int | None, *, keep_best: bool) -> None:
        self.column, self.patience, self.keep_best = column, patience, keep_best

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> None:
        """Called by the trainer after each logging step, before it saves."""
        if logs is None or SUMMARY in logs or self.column not in logs:
            return
        best = best_look(state.log_history, self.column)
        if self.keep_best and best == state.global_step:
            # transformers keeps this step's checkpoint from being rotated out
            state.best_metric, state.best_global_step = logs[self.column], best
            control.should_save = True
        elif self.patience is not None and has_run_out(state.log_history, self.column, self.patience):
            control.should_training_stop = True
            control.should_save = False


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
