"""What one process of several does in `test_two_tuning_processes`: fine-tunes on the examples it is handed.

Started as a script, with the variables a launcher sets (RANK, WORLD_SIZE, ...) or without any, and the folder
of `processes.engines`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from radrl.policy import folder
from radrl.process import importing
from radrl.training.supervised import fine_tuning

importing.go_offline()
sys.path.insert(0, str(Path(__file__).parents[2] / "helpers"))
from processes import Gradients, found, run  # noqa: E402


def train(job: dict[str, Any], case: dict[str, Any], workspace: Path) -> dict[str, Any]:
    """Gradients of every optimiser step, the curve, and what else is looked at."""
    gradients: list[dict[str, torch.Tensor]] = []
    made: list[fine_tuning._LengthGroupedTrainer] = []

    class Kept(fine_tuning._LengthGroupedTrainer):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self.add_callback(Gradients(gradients))
            made.append(self)

    with mock.patch.object(fine_tuning, "_LengthGroupedTrainer", Kept):
        trained, curve = fine_tuning.fine_tune(
            folder.load(job["policies"][case["family"]]),
            fine_tuning.Examples.asking(job["prompt"], [(film,) for film in job["films"]], job["texts"]),
            settings=job["settings"] | case["settings"],
            seed=3,
            workspace=workspace,
            tunes=case["tunes"],
            dtype=case["dtype"],
        )
    return {"gradients": gradients, "curve": curve, **found(made[0], trained)}


if __name__ == "__main__":
    run(Path(sys.argv[1]), train)
