"""Training ends at a number that is none."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from radrl.training.callbacks import SUMMARY
from radrl.training.watching.early_stopping import Finite
from radrl.training.watching.history_rows import NotFinite, require_finite


@pytest.mark.parametrize("name", ["loss", "grad_norm", "kl"])
@pytest.mark.parametrize("value", [math.nan, math.inf, None])  # TRL writes None for a NaN
def test_number_that_is_none_stops(name: str, value: Any) -> None:
    with pytest.raises(NotFinite, match=rf"{name} is (nan|inf) at step 7: .*Lower training\.learning_rate"):
        require_finite({"step": 7, "loss": 0.1, name: value})
    require_finite({"step": 7, "loss": 0.1})


def test_callback_names_the_step_and_passes_over_the_closing_row() -> None:
    state: Any = SimpleNamespace(global_step=5)
    Finite().on_log(None, state, None, logs={"loss": math.nan, SUMMARY: 3.0})  # type: ignore[arg-type]
    Finite().on_log(None, state, None, logs={"loss": 0.5})  # type: ignore[arg-type]
    with pytest.raises(NotFinite, match="loss is nan at step 5"):
        Finite().on_log(None, state, None, logs={"loss": math.nan})  # type: ignore[arg-type]
