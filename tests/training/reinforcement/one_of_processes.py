"""What one process of several does in `test_two_processes`: trains on every case it is handed.

Started as a script, with the variables a launcher sets (RANK, WORLD_SIZE, ...) or without any, and the folder
of `processes.engines`.
"""

from __future__ import annotations

import json
import math
import runpy
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from accelerate.utils import gather_object

from radrl.credit.build import build
from radrl.labelers import build as build_labeler
from radrl.policy import folder, hf_writer, token_draws, weight_transfer
from radrl.policy.encoding import decode_films
from radrl.policy.vllm_writer import VllmWriter
from radrl.policy.writer import Vllm
from radrl.process import importing
from radrl.rewards.base import Part, RewardSum
from radrl.training.reinforcement import grpo, samplers
from radrl.training.reinforcement.grpo import prompt_dataset
from radrl.training.reinforcement.oracle import Oracle
from radrl.training.reinforcement.samplers import RoundedSampler, VllmSampler
from radrl.training.watching.watch import Watch

importing.go_offline()
HELPERS = Path(__file__).parents[2] / "helpers"
sys.path.insert(0, str(HELPERS))
from processes import Gradients, found, run  # noqa: E402
from vllm_worker_reads import worker_reads  # noqa: E402

LABELER = runpy.run_path(str(Path(__file__).parents[1] / "conftest.py"))["energy_labeler"]


class Letters:
    """A score of each report; some have none, some earn nothing."""

    name, clinical = "letters", True
    reads: Literal["report", "output"] = "report"
    told: Mapping[str, float] = {}

    def __init__(self, alike: bool) -> None:
        self.alike = alike  # on every other film

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> list[float]:
        sums = [sum(map(ord, report)) for report in reports]
        if self.alike:
            films = [int(one.removeprefix("film")) for one in sample_ids]
            return [0.3 if film % 2 else x % 97 / 97 for film, x in zip(films, sums, strict=True)]
        return [{0: math.nan, 1: 0.0, 2: 0.0}.get(x % 7, x % 97 / 97) for x in sums]


class Drawn(grpo.ReportGRPOTrainer):
    """Unless it `writes`, rollout k of a film is a function of the film and k, whichever process draws it."""

    writes = False

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.gradients: list[dict[str, torch.Tensor]] = []
        self.rollouts: list[list[list[int]]] = []
        self.references: list[list[int]] = []
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

    def _of_texts(self, model: Any, batch: Any, texts: Any, size: int | None = None) -> torch.Tensor:
        if size is not None:
            self.references.append(gather_object([len(texts.rows)]))
        return super()._of_texts(model, batch, texts, size)

    def _generate_single_turn(self, *asked: Any, **how: Any) -> tuple[list[list[int]], None]:
        if self.writes:
            written, logps = super()._generate_single_turn(*asked, **how)
            self.rollouts.append(gather_object(list(written)))
            return written, logps
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
        writes = case["writes"]

        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            made.append(self)

    grpo.ReportGRPOTrainer = Kept  # type: ignore[misc]
    policy = folder.load(job["policies"][case["family"]])
    settings = job["settings"] | case["settings"]
    films = [(film,) for film in job["films"]]
    ids = [f"film{i}" for i in range(len(films))]
    trained, curve = grpo.optimise(
        policy,
        prompt_dataset(films, job["references"], ids, job["prompt"]),
        reward=RewardSum([Part(Letters(case["alike"]), 1.0, missing="skip")]),
        credit=build(case["credit"], policy.processor.tokenizer, lambda _: LABELER()),
        settings=settings,
        seed=3,
        workspace=workspace,
        watch=watched(job, films) if case["writes"] else None,
        oracle=Oracle(policy.processor.tokenizer, **case["oracle"]) if case["oracle"] else None,
        sampler=SAMPLERS[settings["engine"]](job, case, settings),
    )
    (own,) = made
    kept = ("gradients", "rollouts", "references", "asked_for", "shared")
    return {"curve": curve, **{name: getattr(own, name) for name in kept}, **found(own, trained)}


def copying(job: dict[str, Any], case: dict[str, Any], settings: dict[str, Any]) -> RoundedSampler:
    """A copy that writes; in float32, for sums of bfloat16 depend on how many rows share them."""
    own = folder.load(job["policies"][case["family"]])
    return RoundedSampler(own, settings, seed=3)


class Reader:
    """In an engine's place: a copy of the policy that reads its weights out of the memory they lie in."""

    def __init__(self, path: Path) -> None:
        self.policy = folder.load(path)
        self.weights = dict(self.policy.model.named_parameters())
        self.memory = weight_transfer.WeightMemory(torch.float32)

    @torch.no_grad()
    def load(self, weights: weight_transfer.Weights, *, mend: str) -> None:
        into = dict(weight_transfer.published(self.policy.model, self.weights.items()))
        laid = dict(worker_reads()(json.loads(json.dumps(self.memory.lay(weights, mend=mend)))))
        assert laid.keys() == into.keys()
        for name, weight in laid.items():
            into[name].copy_(weight)

    def draw(self, films: Any, prompts: Any, *, seeds: Sequence[int], **how: Any) -> list[Any]:
        rows = [
            token_draws.numbers(seed, [0], 1, how["max_new_tokens"], self.policy.model.device)
            for seed in seeds
        ]
        shown = [decode_films(own) for own in films]
        return hf_writer.draw(self.policy, shown, prompts, numbers=torch.cat(rows), **how)


def handing_over(job: dict[str, Any], case: dict[str, Any], settings: dict[str, Any]) -> VllmSampler:
    """What hands the weights to vLLM, or to what stands in its place."""
    path = job["policies"][case["family"]]
    if case["vllm"] is None:
        return VllmSampler(Reader(path), settings, seed=3)  # type: ignore[arg-type]
    alone = {"variables": samplers._ALONE, "compute": Vllm(python=case["vllm"])}
    own = VllmWriter(path, dtype="float32", device="cpu", threads=1, draws=True, **alone)
    return VllmSampler(own, settings, seed=3)


SAMPLERS: dict[str, Any] = {"hf": lambda *_: None, "hf_bfloat16": copying, "vllm": handing_over}


def watched(job: dict[str, Any], films: Sequence[tuple[bytes, ...]]) -> Watch:
    """A look at three films after each step."""
    reader = build_labeler(job["labeler"], None, name="rules")
    how: dict[str, Any] = {"form": "plain", "every": 1, "max_new_tokens": 6, "batch_size": 2}
    return Watch(films[:3], job["references"][:3], prompt=job["prompt"], labeler=reader, **how)


if __name__ == "__main__":
    run(Path(sys.argv[1]), train)
