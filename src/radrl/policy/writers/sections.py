"""What engines are told about the machine: of the section `compute`, no parameter to DVC."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from radrl.parts.section import LocalPath, PositiveFloat, PositiveInt, Section
from radrl.process.isolated.talk import SILENCE

ENGINES: Final = ("hf", "vllm")
"""Who writes reports: transformers in this process, or vLLM in one of its own."""


class Vllm(Section):
    """How vLLM is run.

    Args:
        python: interpreter of the environment with vLLM (`make engines`); the running one when null.
        gpu_memory: share of a GPU's memory that it takes.
        cpu_cache: GiB that it takes for keys and values on a CPU.
        timeout: seconds without an answer after which it counts as hung.
    """

    python: LocalPath | None = None
    gpu_memory: Annotated[float, Field(gt=0, le=1)] = 0.9
    cpu_cache: PositiveInt = 1
    timeout: PositiveFloat = SILENCE
