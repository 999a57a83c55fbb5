"""Section `compute`: how machines share out the work: speed, not results, so no parameter to DVC."""

from __future__ import annotations

from typing import Literal

from radrl.parts.section import LocalPath, PositiveInt, Section
from radrl.policy.writer import Vllm


class Compute(Section):
    """How trainings (stages sft and train), work on a corpus (label, rollouts, and so on) and vLLM are run.

    Args:
        processes: that share each step; 1 is the stage's own.
        config: accelerate's, for `accelerate launch`; null takes cpu2.yaml or ddp.yaml of conf/accelerate by
            `device`.
        command: starts the processes in place of accelerate's launcher: a template in which {processes},
            {python}, {worker} and {job} are replaced.
        engine: who labels, draws, writes and scores shard by shard: ``local`` is this machine's processes,
            ``ray`` Ray Data's actors.
        workers: that share the shards, each with models of its own; 1 of local is the stage itself.
        vllm: how vLLM is run, where it writes.
    """

    processes: PositiveInt = 1
    config: LocalPath | None = None
    command: str | None = None
    engine: Literal["local", "ray"] = "local"
    workers: PositiveInt = 1
    vllm: Vllm = Vllm()
