"""What of a training run is kept."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from transformers import TrainerState

from radrl.training.callbacks import StepReport, history, numbers


def test_history_keeps_numbers_by_name_and_no_clock() -> None:
    log = [
        {"step": 1, "reward": 0.5, "epoch": 0.1, "step_time": 3.2, "num_tokens": 512, "note": "text"},
        {"loss": 0.25, "epoch": 0.2, "step": 2},
        {
            "step": 2,
            "train_runtime": 9.9,
            "train_samples_per_second": 3.0,
            "total_flos": 1e9,
            "train_loss": 0.3,
        },
    ]
    rows = history(TrainerState(log_history=log))
    assert [list(row.items()) for row in rows] == [
        [("step", 1), ("epoch", 0.1), ("reward", 0.5)],
        [("step", 2), ("epoch", 0.2), ("loss", 0.25)],
    ]


def test_history_is_the_same_from_a_checkpoint(tmp_path: Any) -> None:
    state = TrainerState(log_history=[{"step": 1, "reward": 0.1 + 0.2, "loss": 1e-9}])
    state.save_to_json(str(tmp_path / "trainer_state.json"))
    read = TrainerState.load_from_json(str(tmp_path / "trainer_state.json"))
    assert [list(row.items()) for row in history(read)] == [list(row.items()) for row in history(state)]


def test_numbers_leave_texts_out() -> None:
    assert numbers({"a": 1, "b": 0.5, "c": "x", "d": None}) == {"a": 1.0, "b": 0.5}


def test_steps_are_reported_once_by_the_first_process() -> None:
    told: list[Any] = []
    callback = StepReport(lambda step, metrics: told.append((step, dict(metrics))))
    for first in (True, False):
        state: Any = SimpleNamespace(is_world_process_zero=first, global_step=7)
        callback.on_log(None, state, None, logs={"loss": 0.5})  # type: ignore[arg-type]
        callback.on_log(None, state, None, logs=None)  # type: ignore[arg-type]
    assert told == [(7, {"loss": 0.5})]
