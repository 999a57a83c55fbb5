"""Writes reports with vLLM, in an interpreter that has it; the engine lives as long as requests come.

First request: ``open`` with the policy's folder as ``model``, ``dtype``, ``device`` (cpu or cuda),
``positions`` that it knows, ``gpu_memory``, ``films``, the most that a prompt may have, and
``logprobs_mode``, vLLM's.
To train: ``load``, other weights of the policy: the ``file`` in memory that holds them, and of each of the
``weights`` its name under which it is published, dtype, shape and first byte.
Every other: ``prompts``, token ids with one mark a film; ``films``, PNG in base64, for each prompt;
``seeds``, one a prompt; ``sampling``, arguments of vLLM's SamplingParams; ``never``, ids of tokens that are
not written.
Answers: by number of the prompt, of each of its reports the token ids, whether the policy ended it, and,
where ``sampling`` asks for ``logprobs``, each token's log-probability.
"""

from __future__ import annotations

import io
import mmap
from base64 import b64decode
from collections.abc import Iterator
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

from channel import Channel, Refusal, Request, require, serve  # type: ignore[import-not-found]  # by path

LONGEST_ON_CPU = 8192
"""Tokens of prompt and report."""


class Engine:
    """vLLM with one policy."""

    def __init__(self) -> None:
        self.llm: Any = None

    def __call__(self, request: Request, channel: Channel) -> None:
        """Open the policy, take other weights of it, or write."""
        if "open" in request:
            self.open(request["open"], channel)
        elif "load" in request:
            self.load(request["load"])
        else:
            self.write(request, channel)

    def open(self, asked: Request, channel: Channel) -> None:
        """Load the policy and say with what."""
        require("vllm", target="engines", parameter="compute.vllm.python")
        kind = import_module("vllm.platforms").current_platform.device_type
        if kind != asked["device"]:
            raise Refusal(
                f"has a vLLM that computes on {kind or 'nothing here'}, but device is {asked['device']}. "
                "Mend: set device, or give the interpreter of an environment with the other build as "
                "compute.vllm.python"
            )
        self.llm = import_module("vllm").LLM(
            model=asked["model"],
            dtype=asked["dtype"],
            gpu_memory_utilization=asked["gpu_memory"],
            limit_mm_per_prompt={"image": asked["films"], "video": 0},
            generation_config="vllm",  # the folder's own would have a say: Qwen's penalises repetitions
            logprobs_mode=asked["logprobs_mode"],
            disable_log_stats=True,
            seed=0,
            **(on_cpu(asked["positions"]) if kind == "cpu" else {"max_model_len": -1}),  # what memory allows
        )
        versions = {name: str(import_module(name).__version__) for name in ("vllm", "torch")}
        channel.about(versions | {"device": kind})

    def load(self, told: Request) -> None:
        """Take other weights, and forget what was computed with those before: read prompts and seen films."""
        self.llm.collective_rpc("reload_weights", kwargs={"weights_iterator": read(told)})
        self.llm.apply_model(pack_again)
        self.llm.reset_prefix_cache()
        self.llm.llm_engine.reset_encoder_cache()
        self.llm.reset_mm_cache()  # both halves: the worker's has been emptied with the weights

    def write(self, request: Request, channel: Channel) -> None:
        """Answer with the reports on every prompt."""
        vllm = import_module("vllm")
        never = dict.fromkeys(request["never"], float("-inf"))
        asked = [
            {"prompt_token_ids": prompt, "multi_modal_data": {"image": [picture(film) for film in films]}}
            for prompt, films in zip(request["prompts"], request["films"], strict=True)
        ]
        sampling = [
            # vLLM adds a report's number among its prompt's to the seed
            vllm.SamplingParams(**request["sampling"], seed=seed, logit_bias=never, detokenize=False)
            for seed in request["seeds"]
        ]
        for number, found in enumerate(self.llm.generate(asked, sampling, use_tqdm=False)):
            reports = sorted(found.outputs, key=lambda report: report.index)
            channel.answer(
                number, [report_fields(report, request["sampling"]["max_tokens"]) for report in reports]
            )


def read(told: Request) -> Iterator[tuple[str, Any]]:
    """The weights that lie in memory, by name; each is mapped, not copied."""
    torch = import_module("torch")
    with Path(told["file"]).open("rb") as file:
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)  # torch wants what it may write
    for name, dtype, shape, start in told["weights"]:
        kind = getattr(torch, dtype)
        yield name, torch.frombuffer(memory, dtype=kind, count=prod(shape), offset=start).reshape(shape)


def pack_again(model: Any) -> None:
    """Let a head that shares the embeddings' weights compute with those that were loaded.

    On a CPU it computes with a packed copy. No file has weights of its name: vLLM 0.31 leaves the old copy.
    """
    for layer in model.modules():
        if hasattr(layer, "cpu_linear") and layer.weight.numel():  # of other layers the copy alone is left
            layer.quant_method.process_weights_after_loading(layer)


def on_cpu(positions: int) -> dict[str, Any]:
    """Arguments of vLLM where it computes on a CPU, for a policy with so many positions."""
    return {
        "enforce_eager": True,  # compiling takes longer than a study's reports
        # a prompt read in parts advances its reports' generators: on GPUs vLLM sets them back, here it fails
        "enable_chunked_prefill": False,
        "max_num_batched_tokens": LONGEST_ON_CPU,
        "max_model_len": min(positions, LONGEST_ON_CPU),
    }


def picture(film: str) -> Any:
    """A film as image processors expect it."""
    return import_module("PIL.Image").open(io.BytesIO(b64decode(film))).convert("RGB")


def report_fields(report: Any, max_tokens: int) -> tuple[Any, ...]:
    """A report's token ids, whether the policy ended it, and log-probabilities where they were asked for.

    Raises:
        Refusal: it was cut off before it had the tokens that were asked for.
    """
    ids, ended = list(report.token_ids), report.finish_reason == "stop"
    if not ended and len(ids) < max_tokens:
        raise Refusal(
            f"cut a report off after {len(ids)} of {max_tokens} tokens: prompt and report do not fit into "
            "the policy's positions, or into the memory that vLLM has. Mend: more of it (compute.vllm), or a "
            "lower max_new_tokens"
        )
    if report.logprobs is None:
        return ids, ended
    return ids, ended, [own[token].logprob for token, own in zip(ids, report.logprobs, strict=True)]


if __name__ == "__main__":
    serve(Engine())
