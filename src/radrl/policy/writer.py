"""What every engine that writes reports offers, and what engines are told about the machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Protocol

from pydantic import Field

from radrl.parts.section import LocalPath, PositiveFloat, PositiveInt, Section
from radrl.process.isolated.talk import SILENCE


@dataclass(frozen=True, slots=True)
class Written:
    """What a policy wrote in answer to one request.

    Args:
        text: without special tokens and white space at its ends.
        tokens: how many it took, the one that ends it left out.
        ended: whether the policy ended it; else it was cut off.
    """

    text: str
    tokens: int
    ended: bool


@dataclass(frozen=True, slots=True)
class Drawn:
    """A report as it was drawn.

    Args:
        ids: of its T tokens, the one that ends it among them.
        log_probabilities: of each under the distribution it was drawn from: after temperature and nucleus,
            without the marks of films; shape (T,).
    """

    ids: list[int]
    log_probabilities: list[float]


Prompt = str | Sequence[str]
"""One instruction for all samples, or one of each."""


def of_part(prompt: Prompt, part: slice) -> Prompt:
    """The instruction of some of the samples, or theirs."""
    return prompt if isinstance(prompt, str) else prompt[part]


def of_each(prompt: Prompt, samples: int) -> list[str]:
    """The instruction of each of so many samples.

    Raises:
        ValueError: there are more or fewer instructions.
    """
    every = [prompt] * samples if isinstance(prompt, str) else list(prompt)
    if len(every) != samples:
        raise ValueError(f"{len(every)} prompts for {samples} samples; give one for all, or one each")
    return every


class Writer(Protocol):
    """A policy behind an engine.

    Attributes:
        device: what computes, for a person.
    """

    device: str

    def write(
        self,
        films: Sequence[Sequence[bytes]],
        prompt: Prompt,
        *,
        max_new_tokens: int,
        samples: int = 1,
        temperature: float = 0.0,
        top_p: float = 1.0,
        seed: int = 0,
        first: int = 0,
    ) -> list[list[Written]]:
        """Write reports on samples.

        Args:
            films: the films of B samples as PNG bytes, one or more each.
            prompt: the instruction, or B of them.
            max_new_tokens: tokens a report may have, its end included.
            samples: reports a sample of the corpus.
            temperature: 0 is greedy.
            top_p: nucleus mass, used when temperature is above 0.
            seed: of the draws.
            first: the place of the batch's first sample among all that are written. A sample's draws follow
                from the seed and its own place, whatever batch it is in.

        Returns:
            For each its reports, shape (B, samples).
        """
        ...

    def close(self) -> None:
        """Let go of what the engine holds; nothing is written afterwards."""
        ...


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
