"""What a trainer tells the world: one row of numbers a logging step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

Report = Callable[[int, Mapping[str, float]], None]
"""Told (step, metrics) while training runs; the tracker's way in, so that no trainer knows it."""

# Clocks and rates differ between runs of the same work; they go to the tracker, never into an artifact.
TIMINGS = ("runtime", "per_second", "step_time", "total_flos", "num_tokens", "_flos")

SUMMARY = "train_runtime"
"""Stands in the closing row alone."""


def silent(step: int, metrics: Mapping[str, float]) -> None:
    """A report nobody listens to."""


class StepReport(TrainerCallback):
    """Passes every logged number on as it comes."""

    def __init__(self, report: Report) -> None:
        self.report = report

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> None:
        """Called by the trainer after each logging step."""
        if state.is_world_process_zero and logs:
            self.report(state.global_step, numbers(logs))


def numbers(logs: Mapping[str, Any]) -> dict[str, float]:
    """The numeric entries of a log row."""
    return {key: float(value) for key, value in logs.items() if isinstance(value, (int, float))}


def history(state: TrainerState) -> list[dict[str, float]]:
    """The training curve as rows, without clocks, so that equal runs give equal bytes.

    Args:
        state: a trainer's, after training; it survives a resume, so the curve is whole.

    Returns:
        One row a logging step with `step` and the logged numbers by name (a resumed trainer has its rows from
        JSON with sorted keys); the trainer's closing summary is left out.
    """
    rows = [row for row in state.log_history if SUMMARY not in row]
    return [
        {"step": row["step"]}
        | {key: value for key, value in sorted(numbers(row).items()) if key != "step" and not _is_timing(key)}
        for row in rows
    ]


def _is_timing(key: str) -> bool:
    return any(part in key for part in TIMINGS)
