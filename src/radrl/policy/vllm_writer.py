"""vLLM, in a process of its own: its pins contradict this environment's, and its memory goes when it ends.

A sample's draws follow from the seed and the sample's place, as with transformers, but by vLLM's own
generators: samples come from the same distribution and are others. Greedy reports are the same as far as the
two engines' sums of floats agree.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from radrl.policy import folder
from radrl.policy.encoding import Films, prompt_text
from radrl.policy.weight_transfer import WeightMemory, Weights
from radrl.policy.writer import Drawn, Prompt, Vllm, Written, of_each
from radrl.process.devices import DeviceError, place
from radrl.process.isolated.talk import SCRIPTS, Talk, interpreter
from radrl.storage import pointers

SCRIPT: Final = SCRIPTS / "vllm_worker.py"
NAME: Final = "vllm"
MEND: Final = "`make engines` makes an environment that has vLLM; give its interpreter as compute.vllm.python"
FILMS: Final = 32
"""Most films of a prompt, more than any study has."""


class VllmWriter:
    """See `radrl.policy.writer.Writer`.

    Args:
        path: the policy's folder.
        dtype: of the weights.
        device: where the policy computes, as params.yaml's `device`; vLLM knows the CPU and CUDA.
        threads: of torch, on a CPU.
        compute: how vLLM is run.
        draws: whether `draw` will be asked for.
        variables: of the process' environment, besides those that it has anyway.

    Raises:
        radrl.process.isolated.talk.WorkerError: when there is no such interpreter, or it has no vLLM that
            computes there.
        DeviceError: when the device is none that vLLM knows.
        ValueError: when the folder is none that `radrl.policy.folder.load` would take.
    """

    def __init__(
        self,
        path: Path,
        *,
        dtype: str,
        device: str,
        threads: int,
        compute: Vllm | None = None,
        draws: bool = False,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        compute = compute or Vllm()
        where = place_of(device)
        path = pointers.resolve(path, stage="policy")
        self.policy, self.dtype = folder.outline(path, dtype=dtype), folder.DTYPES[dtype]
        folder.check_weights(path)
        self._talk = Talk(
            interpreter(compute.python, NAME, MEND),
            SCRIPT,
            name=NAME,
            timeout=compute.timeout,
            variables=_variables(where, threads, compute.cpu_cache) | (variables or {}),
        )
        self._memory = WeightMemory(self.dtype)
        self._talk.__enter__()
        about = self._talk.ask(
            {
                "open": {
                    "model": str(path.absolute()),
                    "dtype": dtype,
                    "device": where.type,
                    "positions": self.policy.model.config.get_text_config().max_position_embeddings,
                    "gpu_memory": compute.gpu_memory,
                    "films": FILMS,
                    "logprobs_mode": "processed_logprobs" if draws else "raw_logprobs",
                }
            },
            0,
        ).about
        self.device = f"{about['device']}, vLLM {about['vllm']} on torch {about['torch']}"

    def write(
        self,
        films: Sequence[Films],
        prompt: Prompt,
        *,
        samples: int = 1,
        temperature: float = 0.0,
        **how: Any,
    ) -> list[list[Written]]:
        """See `radrl.policy.writer.Writer`.

        Raises:
            radrl.process.isolated.talk.WorkerError: when vLLM fails, or its memory does not hold a report.
        """
        drawn = temperature > 0  # greedily it writes once
        reports = self.tokens(films, prompt, samples=samples if drawn else 1, temperature=temperature, **how)
        return [[self._written(*one) for one in own] * (1 if drawn else samples) for own in reports]

    def tokens(
        self,
        films: Sequence[Films],
        prompt: Prompt,
        *,
        max_new_tokens: int,
        samples: int,
        temperature: float,
        top_p: float = 1.0,
        seed: int = 0,
        first: int = 0,
    ) -> list[list[tuple[list[int], bool]]]:
        """What `write` reads reports from: of each the tokens, and whether the policy ended it."""
        seeds = [seed_of(seed, first + number) for number in range(len(films))]
        how = {"n": samples, "temperature": temperature, "top_p": top_p if temperature > 0 else 1.0}
        return self._ask(films, prompt, seeds, **how, max_tokens=max_new_tokens)

    def draw(
        self,
        films: Sequence[Films],
        prompt: Prompt,
        *,
        seeds: Sequence[int],
        max_new_tokens: int,
        temperature: float,
        top_p: float,
    ) -> list[Drawn]:
        """Draw one report on each of B samples, each by its own seed; the writer was opened for it (`draws`).

        Args:
            films: as all that follows, of `write`.
            prompt: the instruction, or B of them.
            seeds: B numbers below 2 ** 62.
            max_new_tokens: tokens a report may have.
            temperature: above 0.
            top_p: nucleus mass.

        Returns:
            B reports.

        Raises:
            radrl.process.isolated.talk.WorkerError: as `write`.
        """
        how = {
            "n": 1,
            "temperature": temperature,
            "top_p": top_p,
            "max_tokens": max_new_tokens,
            "logprobs": 0,
        }
        return [Drawn(ids, own) for ((ids, _, own),) in self._ask(films, prompt, seeds, **how)]

    def load(self, weights: Weights, *, mend: str) -> None:
        """Go on with other weights of the same policy; nothing that was read with the old ones is used again.

        Args:
            weights: all of them, under the names that transformers publishes.
            mend: as `radrl.policy.weight_transfer.WeightMemory.lay` takes it.

        Raises:
            radrl.storage.complete_weights.WeightsError: when one holds what is no number.
        """
        self._talk.ask({"load": self._memory.lay(weights, mend=mend)}, 0)

    def _ask(
        self, films: Sequence[Films], prompt: Prompt, seeds: Sequence[int], **sampling: Any
    ) -> list[Any]:
        """What vLLM answers for each sample, by arguments of its SamplingParams."""
        request = {
            "prompts": [
                self._ids(each, len(own))
                for each, own in zip(of_each(prompt, len(films)), films, strict=True)
            ],
            "films": [[b64encode(film).decode() for film in own] for own in films],
            "seeds": list(seeds),
            "never": self._never(),
            "sampling": sampling | {"stop_token_ids": folder.ends(self.policy)},
        }
        return self._talk.ask(request, len(films)).answers

    def close(self) -> None:
        """See `radrl.policy.writer.Writer`: the process ends."""
        self._talk.__exit__(None, None, None)
        self._memory.close()

    def _ids(self, prompt: str, films: int) -> list[int]:
        """The request for a report, with one mark a film: vLLM puts as many tokens there as the film has."""
        text = prompt_text(self.policy.processor, prompt, films)
        ids: list[int] = self.policy.processor.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def _never(self) -> list[int]:
        words = self.policy.model.config.get_text_config().vocab_size
        return [token for token in self.policy.model.generation_config.suppress_tokens if token < words]

    def _written(self, ids: list[int], ended: bool) -> Written:
        text = self.policy.processor.tokenizer.decode(ids, skip_special_tokens=True)
        return Written(text.strip(), len(ids) - ended, ended)


def place_of(device: str) -> torch.device:
    """Where vLLM is to compute.

    Raises:
        DeviceError: when the device is none that it knows.
    """
    where = place(device)
    if where.type not in ("cpu", "cuda"):
        raise DeviceError(f"device is {device}; vLLM computes on cpu and cuda: set engine to hf, or device")
    return where


def _variables(where: torch.device, threads: int, cpu_cache: int) -> dict[str, str]:
    """VLLM's settings for one process that no other joins."""
    variables = {
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "VLLM_HOST_IP": "127.0.0.1",  # it would ask a name server's address for its own
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_LOGGING_LEVEL": "WARNING",
    }
    if where.type == "cpu":
        return variables | {
            "VLLM_CPU_KVCACHE_SPACE": str(cpu_cache),
            "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # it would take all cores, each for a thread
            "OMP_NUM_THREADS": str(threads),
        }
    return variables | {"CUDA_VISIBLE_DEVICES": _visible(where.index or 0)}


def _visible(index: int) -> str:
    """The GPU that torch numbers so in this process."""
    known = [own for own in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if own]
    return known[index] if known else str(index)


def seed_of(*key: int) -> int:
    """Of a sample's reports, from the seed of all and its place; that of each is its number higher.

    Args:
        *key: numbers that no other sample has together.

    Returns:
        Below 2 ** 62.
    """
    return int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0] >> np.uint64(2))
