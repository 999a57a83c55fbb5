"""What one process of several does in `test_two_processes`: trains on every case it is handed.

Started as a script, with the variables a launcher sets (RANK, WORLD_SIZE, ...) or without any, and a folder
that holds job.pt. The first process writes done-<processes>.pt there: gradients and curve of each case.
"""

from __future__ import annotations

import math
import runpy
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from accelerate import PartialState

from radrl.credit.build import build
from radrl.policy import folder
from radrl.process import offline
from radrl.rewards.base import Part, RewardSum
from radrl.training.reinforcement import grpo
from radrl.training.reinforcement.grpo import prompt_dataset
from radrl.training.reinforcement.oracle import Oracle

offline.apply()
HELPERS = Path(__file__).parents[2] / "helpers"
sys.path.insert(0, str(HELPERS))
from processes import Gradients  # noqa: E402

LABELER = runpy.run_path(str(Path(__file__).parents[1] / "conftest.py"))["energy_labeler"]


class Letters:
    """A score of each report; some have none, some earn nothing."""

    name, clinical = "letters", True
    reads: Literal["report", "output"] = "report"
    told: Mapping[str, float] = {}

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> list[float]:
        sums = [sum(map(ord, report)) for report in reports]
        return [{0: math.nan, 1: 0.0, 2: 0.0}.get(x % 7, x % 97 / 97) for x in sums]


class Drawn(grpo.ReportGRPOTrainer):
    """Rollout k of a film is a function of the film and k, whichever process draws it."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.gradients: list[dict[str, torch.Tensor]] = []
        self.asked_for = self.shared = 0
        self.add_callback(Gradients(self.gradients))

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        first = self.accelerator.process_index * len(inputs)
        self.asked = [
            (int(row["sample_id"].removeprefix("film")), (first + i) % self._group_size)
            for i, row in enumerate(inputs)
        ]
        return super()._generate_and_score_completions(inputs)

    def _get_per_token_logps_and_entropies(self, *args: Any, **kwargs: Any) -> Any:
        self.asked_for += 1
        return super()._get_per_token_logps_and_entropies(*args, **kwargs)

    def _by_shared_rows(self, *args: Any, **kwargs: Any) -> Any:
        self.shared += 1
        return super()._by_shared_rows(*args, **kwargs)

    def _generate_single_turn(self, *_: Any, **__: Any) -> tuple[list[list[int]], None]:
        tokenizer = self.processing_class.tokenizer
        plain = [i for i in range(len(tokenizer)) if i not in tokenizer.all_special_ids]
        drawn = []
        for film, rollout in self.asked:
            rng = np.random.default_rng([film, rollout, self.state.global_step])
            words = rng.choice(plain, size=rng.integers(2, 6)).tolist()
            drawn.append([*words, tokenizer.eos_token_id])
        return drawn, None


def train(job: dict[str, Any], case: dict[str, Any], workspace: Path) -> dict[str, Any]:
    """Gradients of every optimiser step, and the curve."""
    made: list[Drawn] = []

    class Kept(Drawn):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            made.append(self)

    grpo.ReportGRPOTrainer = Kept  # type: ignore[misc]
    policy = folder.load(job["policy"])
    films = [(film,) for film in job["films"]]
    ids = [f"film{i}" for i in range(len(films))]
    _, curve = grpo.optimise(
        policy,
        prompt_dataset(films, job["references"], ids, job["prompt"]),
        reward=RewardSum([Part(Letters(), 1.0, missing="skip")]),
        credit=build(case["credit"], policy.processor.tokenizer, lambda _: LABELER()),
        settings=job["settings"] | case["settings"],
        seed=3,
        workspace=workspace,
        oracle=Oracle(policy.processor.tokenizer, **case["oracle"]) if case["oracle"] else None,
    )
    asked = {"asked for": made[0].asked_for, "shared": made[0].shared}
    return {"gradients": made[0].gradients, "curve": curve, **asked}


def main(work: Path) -> None:
    """Train on every case."""
    torch.set_num_threads(1)
    job = torch.load(work / "job.pt", weights_only=False)
    state = PartialState(cpu=True)
    done = {
        name: train(job, case, work / f"{name} {state.num_processes}") for name, case in job["cases"].items()
    }
    if state.is_main_process:
        torch.save(done, work / f"done-{state.num_processes}.pt")
    state.wait_for_everyone()
    state.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
