"""Several processes that train as one, and what they gave the optimiser."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState
from accelerate.utils import DistributedType
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
    "FSDP_TRANSFORMER_CLS_TO_WRAP": "Qwen2_5_VLDecoderLayer",
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
        codes = [process.wait(timeout=170) for process in started]
    finally:
        for process in started:
            process.kill()
    assert not any(codes), "\n".join((work / f"log-{processes}-{i}").read_text() for i in range(processes))
