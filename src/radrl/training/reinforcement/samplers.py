"""Who draws a training's rollouts in place of the loop with the weights that train.

radrl's own loop may draw with a copy in bfloat16, which is half the bytes to read for each token. Where
processes hold parts of the weights, each has the whole copy, so they gather them once a batch.

vLLM stands in a process of its own, which each process of a training has for its share of the rollouts.
Before a batch is drawn each process lays the policy's weights into memory that its engine reads them from,
one after another, those of adapters merged, those of which it holds a part gathered.

A rollout's draws follow from the seed, the step and its place among the step's rollouts: not from a generator
that a resumed training would have to find again, nor from how many processes there are.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

import torch
from accelerate import Accelerator
from PIL import Image

from radrl.policy import folder, hf_writer, shared_prefill, token_draws, weight_transfer
from radrl.policy.folder import Policy
from radrl.policy.vllm_writer import MEND, NAME, VllmWriter, place_of, seed_of
from radrl.policy.writer import Drawn, Vllm
from radrl.process.devices import local_rank, place, processes
from radrl.process.isolated.talk import interpreter
from radrl.training.reinforcement import ArmSettings
from radrl.training.tuning import plain_weights
from radrl.training.watching.history_rows import DIVERGED

Pictures = Sequence[Image.Image]
"""The films of one sample."""

_ALONE: Final = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "TORCHELASTIC_USE_AGENT_STORE": "False"}
"""What an engine of one of several processes is told: a launcher's variables are not for it."""


class Sampler(Protocol):
    """Draws rollouts from a policy that trains elsewhere."""

    def draw(
        self,
        model: Any,
        films: Sequence[Pictures],
        prompts: Sequence[str],
        *,
        accelerator: Accelerator,
        step: int,
        attempt: int = 0,
    ) -> list[Drawn]:
        """Draw a rollout on each row of a step, with the policy's weights as they are.

        Args:
            model: that trains, without wrappers; the same in all processes.
            films: of this process' B rows, as many as in each other.
            prompts: the instruction of each.
            accelerator: the trainer's.
            step: updates so far.
            attempt: 0 for the films that a step begins with; further films of the step, on which the same
                weights write, count from 1.

        Returns:
            B rollouts.
        """
        ...


class VllmSampler:
    """See `Sampler`.

    Args:
        writer: opened to draw.
        settings: max_new_tokens, temperature and top_p of `radrl.params.training.Training`.
        seed: of the training.
    """

    def __init__(self, writer: VllmWriter, settings: Mapping[str, Any], *, seed: int) -> None:
        self.writer, self.seed = writer, seed
        self._names: dict[str, str] = {}  # published ones, looked up at the first batch
        self.how = {name: settings[name] for name in ("max_new_tokens", "temperature", "top_p")}

    def draw(
        self,
        model: Any,
        films: Sequence[Pictures],
        prompts: Sequence[str],
        *,
        accelerator: Accelerator,
        step: int,
        attempt: int = 0,
    ) -> list[Drawn]:
        """See `Sampler`."""
        if not attempt:
            self._hand_over(model)
        first, again = accelerator.process_index * len(films), (attempt,) if attempt else ()
        seeds = [seed_of(self.seed, step, first + row, *again) for row in range(len(films))]
        return self.writer.draw(
            [[_png(film) for film in own] for own in films], prompts, seeds=seeds, **self.how
        )

    def _hand_over(self, model: Any) -> None:
        """Let this process' engine load the weights, which are the same in all processes."""
        own = shared_prefill.bare(model)
        weights = weight_transfer.published(own, plain_weights(model), self._names)
        self.writer.load(weights, mend=DIVERGED)


class RoundedSampler:
    """See `Sampler`: radrl's own loop, with a copy of the policy in bfloat16.

    Args:
        policy: a copy of its own, in any dtype.
        settings: max_new_tokens, temperature and top_p of `radrl.params.training.Training`.
        seed: of the training.
    """

    def __init__(self, policy: Policy, settings: Mapping[str, Any], *, seed: int) -> None:
        self.policy, self.seed = policy, seed
        self.how = {name: settings[name] for name in ("max_new_tokens", "temperature", "top_p")}

    def draw(
        self,
        model: Any,
        films: Sequence[Pictures],
        prompts: Sequence[str],
        *,
        accelerator: Accelerator,
        step: int,
        attempt: int = 0,
    ) -> list[Drawn]:
        """See `Sampler`."""
        if not attempt:
            round_weights(model, self.policy.model)
        first = accelerator.process_index * len(films)
        numbers = token_draws.numbers(
            seed_of(self.seed, step, attempt),
            range(first, first + len(films)),
            1,
            self.how["max_new_tokens"],
            self.policy.model.device,
        )
        return hf_writer.draw(self.policy, films, prompts, numbers=numbers, **self.how)


@torch.no_grad()
def round_weights(model: Any, into: Any) -> None:
    """Lay a policy's weights into a copy, in the copy's dtype and where its weights lie, one after another.

    Args:
        model: that trains. Where processes hold parts of its weights they are gathered, so all must ask.
        into: without adapters.
    """
    copies = dict(into.named_parameters())
    for name, weight in plain_weights(model):
        copies[name].copy_(getattr(weight, "full_tensor", lambda own=weight: own)())


def check(settings: ArmSettings, vllm: Mapping[str, Any]) -> None:
    """Refuse, before anything is loaded, an engine that cannot draw this training's rollouts.

    Args:
        settings: of the arm.
        vllm: the section `compute.vllm`.

    Raises:
        radrl.process.isolated.talk.WorkerError: when there is no such interpreter.
        radrl.process.devices.DeviceError: when the device is none that vLLM knows.
    """
    if settings.training["engine"] != "vllm":
        return
    interpreter(Vllm.model_validate(vllm).python, NAME, MEND)
    place_of(settings.device)


@contextmanager
def opened(settings: ArmSettings, start: Path, vllm: Mapping[str, Any]) -> Iterator[Sampler | None]:
    """The engine that an arm's rollouts are drawn by, for the time of a block.

    Args:
        settings: of the arm.
        start: the policy's folder.
        vllm: the section `compute.vllm`.

    Yields:
        The sampler; nothing where the trainer's own loop draws.

    Raises:
        As `check`, and `radrl.process.isolated.talk.WorkerError` when the interpreter has no vLLM.
    """
    check(settings, vllm)
    seed, training = settings.seed, settings.training
    if training["engine"] == "hf":
        yield None
        return
    if training["engine"] == "hf_bfloat16":
        rounded = folder.load(start, dtype="bfloat16", device=place(settings.device))
        yield RoundedSampler(rounded, training, seed=seed)
        return
    several = processes() > 1
    writer = VllmWriter(
        start,
        dtype="bfloat16" if training["bf16"] else "float32",
        device=f"cuda:{local_rank()}" if several and settings.device != "cpu" else settings.device,
        threads=settings.threads,
        compute=Vllm.model_validate(vllm),
        draws=True,
        variables=_ALONE if several else None,
    )
    with closing(writer):
        yield VllmSampler(writer, training, seed=seed)


def _png(film: Image.Image) -> bytes:
    stream = io.BytesIO()
    film.save(stream, format="PNG", compress_level=1)
    return stream.getvalue()
