"""What a token costs by transformers and by vLLM, side by side: radrl's two engines that write reports.

    python bench/engines.py --python .venv-vllm/bin/python            # the table
    python bench/engines.py --python .venv-vllm/bin/python --rounds 5 --write docs/bench/engines.md

The shipped policy writes on drawn films as rollouts are drawn (K = 10, nucleus 0.9), as the stage generate
does (greedy), and as a training's step draws its own, for which vLLM is handed the weights first. The engines
take turns, so what else the machine does falls on both. Counted is CPU time, of this process and of vLLM's,
and the wall's clock beside it; one thread each. Sampled reports differ between the engines, so a token's cost
is compared, ends included.
"""

from __future__ import annotations

import argparse
import io
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any, Final

import psutil
import torch
import yaml
from PIL import Image

from radrl.data.sources import phantom
from radrl.policy import hf_writer, token_draws
from radrl.policy.encoding import decode_films
from radrl.policy.hf_writer import HfWriter
from radrl.policy.vllm_writer import VllmWriter
from radrl.policy.writer import Vllm, Writer
from radrl.process import importing
from radrl.training.reinforcement.samplers import VllmSampler

ROOT: Final = Path(__file__).resolve().parents[1]
CASES: Final[Mapping[str, Mapping[str, Any]]] = {
    "rollouts, K = 10, nucleus": {"samples": 10, "temperature": 1.0, "top_p": 0.9, "max_new_tokens": 96},
    "generate, greedy": {"max_new_tokens": 128},
}
ENGINES: Final = ("hf", "vllm")
STEP: Final = {"max_new_tokens": 96, "temperature": 1.0, "top_p": 1.0}
GROUP: Final = 8
"""Rollouts of a film in a step."""
Films = Sequence[tuple[bytes, ...]]
Works = Mapping[str, Callable[[], int]]
"""By engine what it does in a case; it says how many tokens came of it."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What a batch cost: CPU seconds, the wall's, and the tokens that came of them."""

    cpu: float
    wall: float
    tokens: int


def spend(work: Callable[[], int]) -> Spent:
    """Let an engine write."""
    cpu, wall = cpu_seconds(), time.perf_counter()
    tokens = work()
    return Spent(cpu_seconds() - cpu, time.perf_counter() - wall, tokens)


def writing(writer: Writer, films: Films, prompt: str, how: Mapping[str, Any]) -> Callable[[], int]:
    """Reports on a batch."""

    def work() -> int:
        written = writer.write(films, prompt, **how)
        return sum(one.tokens + one.ended for own in written for one in own)

    return work


def drawing(hf: HfWriter, vllm: VllmWriter, films: Films, prompt: str) -> Works:
    """A step's rollouts as a training draws them, by its own loop and by vLLM with the training's weights."""
    shown = [pictures for own in films for pictures in [decode_films(own)] * GROUP]
    prompts, policy, sampler = [prompt] * len(shown), hf.policy, VllmSampler(vllm, STEP, seed=0)
    numbers = token_draws.numbers(0, range(len(shown)), 1, STEP["max_new_tokens"], torch.device("cpu"))

    def loop() -> int:
        drawn = hf_writer.draw(policy, shown, prompts, numbers=numbers, **STEP)
        return sum(len(one.ids) for one in drawn)

    def handed_over() -> int:
        alone: Any = SimpleNamespace(process_index=0)
        drawn = sampler.draw(policy.model, shown, prompts, accelerator=alone, step=0)
        return sum(len(one.ids) for one in drawn)

    return {"hf": loop, "vllm": handed_over}


def cpu_seconds() -> float:
    """Of this process and of those that it has started."""
    own = psutil.Process()
    times = [process.cpu_times() for process in (own, *own.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def row(case: str, works: Works, count: int) -> str:
    """A case's line: milliseconds a token, and hf's over vLLM's of each round after one to warm up."""
    rounds = [{engine: spend(work) for engine, work in works.items()} for _ in range(count + 1)][1:]
    cells = [case, f"{median(own['hf'].tokens for own in rounds):,.0f}"]
    for measure in ("cpu", "wall"):
        cost = {
            engine: [1000 * getattr(own[engine], measure) / own[engine].tokens for own in rounds]
            for engine in ENGINES
        }
        ratios = sorted(hf / vllm for hf, vllm in zip(*cost.values(), strict=True))
        cells += [f"{median(cost[engine]):.3f}" for engine in ENGINES]
        cells.append(f"{median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")
    return f"| {' | '.join(cells)} |"


def page(given: argparse.Namespace, hf: HfWriter, vllm: VllmWriter, prompt: str) -> str:
    """The table under its head."""
    films = [(drawn,) for drawn in drawn_films(given.films)]
    lines = [
        row(
            case,
            {"hf": writing(hf, films, prompt, how), "vllm": writing(vllm, films, prompt, how)},
            given.rounds,
        )
        for case, how in CASES.items()
    ]
    step = films[: len(films) // 4]
    name = f"a step's {len(step)} x {GROUP} rollouts, weights handed over first"
    lines.append(row(name, drawing(hf, vllm, step, prompt), given.rounds))
    ours = ", ".join(f"{name} {version(name)}" for name in ("transformers", "torch"))
    return "\n".join(
        [
            f"Made by `python bench/engines.py --python PYTHON --films {given.films} --rounds {given.rounds} "
            f"--write docs/bench/engines.md`: hf is {ours}; vllm is {vllm.device}. Python "
            f"{platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores, one thread each; "
            f"{given.films} drawn films of 112 pixels a batch, {given.rounds} rounds after one to warm up.",
            "",
            "| case | tokens a batch | hf, CPU ms a token | vllm | hf / vllm (least to largest of rounds) "
            "| hf, wall ms a token | vllm | hf / vllm |",
            "|---|---|---|---|---|---|---|---|",
            *lines,
            "",
            "A ratio above 1 is vLLM's advantage. The policy has 1.3 M parameters, so what is compared is "
            "mostly what each engine does around the model, in Python. It says nothing of a policy of "
            "billions on a GPU, which no one here has run.",
            "",
        ]
    )


def drawn_films(count: int) -> list[bytes]:
    """Films as the shipped study draws them, as PNG."""
    found = []
    for own in phantom.read(seed=0, studies={"test": count}, image_size=112, lateral_share=0):
        png = io.BytesIO()
        Image.fromarray(own.image()).save(png, "png")
        found.append(png.getvalue())
    return found


def main() -> None:
    """Take turns, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", required=True, help="interpreter with vLLM (`make engines`)")
    parser.add_argument("--rounds", type=int, default=5, help="of both engines, after one to warm up")
    parser.add_argument("--films", type=int, default=32, help="of a batch")
    parser.add_argument("--write", type=Path, help="write the page here, under its head")
    given = parser.parse_args()
    importing.go_offline()
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    how = {"dtype": "float32", "device": "cpu", "threads": 1}
    base = ROOT / params["policy"]["path"]
    with (
        closing(HfWriter.open(base, **how)) as hf,
        closing(VllmWriter(base, **how, compute=Vllm(python=given.python), draws=True)) as vllm,
    ):
        text = page(given, hf, vllm, params["prompts"]["plain"])
    print(text)
    if given.write:
        given.write.write_text("# bench/engines\n\n" + text)


if __name__ == "__main__":
    main()
