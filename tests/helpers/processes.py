"""Several processes that train as one, and what they gave the optimiser.

A test hands cases to `engines`, which starts its script once a process; the script trains on them by `run`.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import torch
from accelerate import PartialState
from accelerate.utils import DistributedType
from torch.distributed.fsdp import FSDPModule
from transformers import TrainerCallback


class Gradients(TrainerCallback):
    """Keeps what the optimiser is about to be given."""

    def __init__(self, kept: list[dict[str, torch.Tensor]]) -> None:
        self.kept = kept

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        found = {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}
        whole = {name: getattr(grad, "full_tensor", grad.clone)() for name, grad in found.items()}
        self.kept.append({name.removeprefix("module."): grad for name, grad in whole.items()})


def check_updates(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> None:
    assert len(one) == len(other) > 0
    largest = max(float(gradient.abs().max()) for step in one for gradient in step.values())
    assert largest > 1e-2
    for step, again in zip(one, other, strict=True):
        assert step.keys() == again.keys()
        for weight, gradient in step.items():
            torch.testing.assert_close(again[weight], gradient, rtol=1e-3, atol=1e-5 * largest)


SHARDS = {
    "ACCELERATE_USE_FSDP": "true",
    "FSDP_VERSION": "2",
    "FSDP_AUTO_WRAP_POLICY": "TRANSFORMER_BASED_WRAP",
    "FSDP_RESHARD_AFTER_FORWARD": "true",
    "FSDP_STATE_DICT_TYPE": "SHARDED_STATE_DICT",
    "FSDP_CPU_RAM_EFFICIENT_LOADING": "false",
}
"""What `accelerate launch` sets by conf/accelerate/fsdp2.yaml."""


def shard_on_cpu() -> None:
    """Let accelerate take the CPUs of several processes for GPUs, as it must to part weights among them.

    Left alone it runs an FSDP configuration on CPUs as plain DDP and says nothing.
    """
    made = PartialState.__init__

    def init(self: PartialState, *args: Any, **settings: Any) -> None:
        made(self, *args, **settings)
        if self._shared_state.get("distributed_type") == DistributedType.MULTI_CPU:
            self._shared_state["distributed_type"] = DistributedType.MULTI_GPU

    PartialState.__init__ = init  # type: ignore[method-assign]


ENGINES: Final = {"one": "NO", "two": "MULTI_CPU", "parts": "FSDP"}
"""What accelerate calls one process, two with all weights each, and two with parts of them."""

Train = Callable[[dict[str, Any], dict[str, Any], Path], dict[str, Any]]
"""Trains by a job and a case of it, in a workspace; what it found."""


def engines(script: Path, work: Path, job: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What one process and two made of every case, and two with parts of the weights of some.

    Args:
        script: calls `run`.
        work: an empty folder.
        job: `cases` by name, and `sharded`, names of those that are run with parts of the weights too. One
            that `resumes` is trained to the end twice, after its second checkpoint was lost.

    Returns:
        What was found, by a key of ENGINES and the name of the case.
    """
    torch.save(job, work / "job.pt")
    launch(script, work, 1)
    launch(script, work, 2)
    launch(script, work, 2, **SHARDS)
    return {engine: torch.load(work / f"{kind}.pt", weights_only=False) for engine, kind in ENGINES.items()}


def run(work: Path, train: Train) -> None:
    """Train on every case as one process of those started; the first writes what it found."""
    torch.set_num_threads(1)
    sharded = "ACCELERATE_USE_FSDP" in os.environ
    if sharded:
        shard_on_cpu()
    job = torch.load(work / "job.pt", weights_only=False)
    state = PartialState(cpu=True)
    kind = "parts" if sharded else ("one", "two")[state.num_processes - 1]
    done = {}
    for name in job["sharded"] if sharded else job["cases"]:
        case = job["cases"][name]
        done[name] = train(job, case, work / name / kind)
        if case["resumes"]:
            done[name]["again"] = _again(train, job, case, work / name / kind, state)
            if kind == "two":  # and they go on from what one process has left
                if state.is_main_process:
                    shutil.copytree(work / name / "one", work / name / "taken over")
                done[name]["taken over"] = _again(train, job, case, work / name / "taken over", state)
    if state.is_main_process:
        (engine,) = {own["engine"] for own in done.values()}
        torch.save(done, work / f"{engine}.pt")
    state.wait_for_everyone()
    state.destroy_process_group()


def _again(
    train: Train, job: dict[str, Any], case: dict[str, Any], workspace: Path, state: PartialState
) -> dict[str, Any]:
    """Lose the last checkpoint, and train again from the one before."""
    state.wait_for_everyone()
    if state.is_main_process:
        shutil.rmtree(workspace / "checkpoint-2")
    state.wait_for_everyone()
    return train(job, case, workspace)


def found(trainer: Any, trained: Any) -> dict[str, Any]:
    """What is looked at of a training: its engine, weights, and modules that are gathered on their own."""
    return {
        "engine": trainer.accelerator.distributed_type.value,
        "weights": {name: weight.detach() for name, weight in trained.model.state_dict().items()},
        "parted": [name for name, module in trainer.model.named_modules() if isinstance(module, FSDPModule)],
    }


LAYERS: Final = [f"model.language_model.layers.{i}" for i in range(2)]
"""Of every family's small policy."""


def check_parted(parted: list[str]) -> None:
    """Each layer of the language model was gathered on its own, and none of the vision tower."""
    assert [name for name in parted if "layers" in name or "blocks" in name] == LAYERS


def check_weights(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor], atol: float = 2e-3) -> None:
    """Weights are whole, and alike as far as AdamW makes them, which moves one by the rate whatever its
    gradient's size, also where that is rounding."""
    assert one.keys() == other.keys()
    for name, weight in one.items():
        assert type(other[name]) is torch.Tensor
        torch.testing.assert_close(other[name], weight, rtol=0, atol=atol, msg=name)


def launch(script: Path, work: Path, processes: int, **variables: str) -> None:
    """Start a script with the variables that a launcher sets, once a process, or alone without any."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    launched = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(processes)}
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RANK")}
    environment |= variables | {
        "CUDA_VISIBLE_DEVICES": "",
        "ACCELERATE_USE_CPU": "true",
        "OMP_NUM_THREADS": "1",
    }
    started = []
    for rank in map(str, range(processes)):
        own = launched | {"RANK": rank, "LOCAL_RANK": rank} if processes > 1 else {}
        with (work / f"log-{processes}-{rank}").open("w") as log:
            started.append(
                subprocess.Popen(
                    [sys.executable, script, work],
                    env=environment | own,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )
            )
    try:
        codes = [process.wait(timeout=300) for process in started]
    finally:
        for process in started:
            process.kill()
    assert not any(codes), "\n".join((work / f"log-{processes}-{i}").read_text() for i in range(processes))
