"""What one process of several does in `test_two_tuning_processes`: fine-tunes on the examples it is handed.

Started as a script, with the variables a launcher sets (RANK, WORLD_SIZE, ...) or without any, and a folder
that holds job.pt. The first process writes done-<processes>.pt there: gradients and curve of each cut.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from accelerate import PartialState

from radrl.policy import folder
from radrl.process import offline
from radrl.training.supervised import fine_tuning

offline.apply()
sys.path.insert(0, str(Path(__file__).parents[2] / "helpers"))
from processes import Gradients  # noqa: E402


def train(job: dict[str, Any], at_once: int, workspace: Path) -> dict[str, Any]:
    """Gradients of every optimiser step, and the curve."""
    gradients: list[dict[str, torch.Tensor]] = []

    class Kept(fine_tuning._LengthGroupedTrainer):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self.add_callback(Gradients(gradients))

    with mock.patch.object(fine_tuning, "_LengthGroupedTrainer", Kept):
        _, curve = fine_tuning.fine_tune(
            folder.load(job["policy"]),
            fine_tuning.Examples.asking(job["prompt"], [(film,) for film in job["films"]], job["texts"]),
            settings=job["settings"] | {"examples_at_once": at_once},
            seed=3,
            workspace=workspace,
        )
    return {"gradients": gradients, "curve": curve}


def main(work: Path) -> None:
    """Train, and write down what was done."""
    torch.set_num_threads(1)
    job = torch.load(work / "job.pt", weights_only=False)
    processes = PartialState(cpu=True).num_processes
    done = {size: train(job, size, work / f"{size} {processes}") for size in job["at_once"]}
    state = PartialState()
    if state.is_main_process:
        torch.save(done, work / f"done-{processes}.pt")
    state.wait_for_everyone()
    state.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
