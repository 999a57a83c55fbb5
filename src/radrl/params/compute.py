"""Section `compute`: how a machine runs trainings and engines: speed, not results, so no parameter to DVC."""

from __future__ import annotations

from radrl.parts.section import LocalPath, PositiveInt, Section
from radrl.policy.writers.sections import Vllm


class Compute(Section):
    """How trainings (the stages sft and train), and engines that write reports, are run.

    Args:
        processes: that share each step; 1 is the stage's own.
        config: accelerate's, for `accelerate launch`; null takes cpu2.yaml or ddp.yaml of conf/accelerate by
            `device`.
        command: starts the processes in place of accelerate's launcher: a template in which {processes},
            {python}, {worker} and {job} are replaced.
        vllm: how vLLM is run, where it writes.
    """

    processes: PositiveInt = 1
    config: LocalPath | None = None
    command: str | None = None
    vllm: Vllm = Vllm()
