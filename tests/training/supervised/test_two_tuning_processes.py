"""Two processes that share a batch of fine-tuning make the update that one would."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from processes import check_updates, launch

SCRIPT = Path(__file__).with_name("one_of_tuning_processes.py")
REPORTS = ["Clear.", "The heart is big.", "No.", "Is the heart big?", "big", "a b a b a", "b", "heart"]


WHOLE, SINGLE = 4, 1
"""Examples that a process takes at once, of a step's four."""


@pytest.fixture(scope="module")
def done(
    policy_folder: Path,
    films: Callable[..., list[bytes]],
    prompt: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[int, Any]:
    """What one process and two made of the same examples."""
    settings = {"epochs": 2, "batch_size": 4, "learning_rate": 1e-3, "warmup_share": 0.0}
    settings |= {"weight_decay": 0.0, "gradient_clip": 1.0, "max_tokens": 24, "checkpoint_every": 1}
    settings |= {"optimizer": "adamw", "bf16": False}
    job = {"policy": policy_folder, "films": films(8), "texts": REPORTS, "prompt": prompt}
    work = tmp_path_factory.mktemp("processes")
    torch.save(job | {"settings": settings, "at_once": [WHOLE, SINGLE]}, work / "job.pt")
    for processes in (1, 2):
        launch(SCRIPT, work, processes)
    return {n: torch.load(work / f"done-{n}.pt", weights_only=False) for n in (1, 2)}


@pytest.mark.parametrize(("processes", "at_once"), [(2, WHOLE), (1, SINGLE), (2, SINGLE)])
def test_a_batch_makes_one_update_however_it_is_shared(
    done: dict[int, Any], processes: int, at_once: int
) -> None:
    whole, shared = done[1][WHOLE], done[processes][at_once]
    check_updates(whole["gradients"], shared["gradients"])
    assert [row["step"] for row in shared["curve"]] == [1, 2, 3, 4]
    for own, other in zip(whole["curve"], shared["curve"], strict=True):
        assert other == pytest.approx(own, rel=1e-3)
