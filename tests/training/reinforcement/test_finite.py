"""The callback that ends a training at a number that is none."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from radrl.training.callbacks import SUMMARY
from radrl.training.watching.early_stopping import Finite
from radrl.training.watching.history_rows import NotFinite

NAN = float("nan")
STEP: Any = SimpleNamespace(global_step=7)
NOTHING: Any = None


def log(row: dict[str, Any] | None) -> None:
    Finite().on_log(NOTHING, STEP, NOTHING, logs=row)


@pytest.mark.parametrize("row", [{"loss": NAN}, {"kl": None, "loss": 1.0}, {"grad_norm": float("inf")}])
def test_row_with_a_number_that_is_none_ends_the_training_at_its_step(row: dict[str, Any]) -> None:
    with pytest.raises(NotFinite, match="at step 7"):
        log(row)


def test_rows_of_numbers_and_the_summary_of_a_training_pass() -> None:
    log({"loss": 1.0, "kl": 0.0, "reward": NAN})  # a reward may be missing
    log({"loss": NAN, SUMMARY: 1.0})
    log(None)
