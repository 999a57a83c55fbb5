"""What handing a policy's weights to an engine takes: through a folder, and through memory.

    python bench/weight_transfer.py                                  # the table
    python bench/weight_transfer.py --rounds 5 --write docs/bench/weight_transfer.md

A Qwen2.5-VL of random weights, the shipped one's shape but for width and depth, is handed over once a batch
of rollouts, as `training.engine: vllm` does. The folder is the way of before: `save_pretrained`, read as
vLLM's loader reads it, and removed. The memory is `radrl.policy.weight_transfer`, kept from batch to batch
and read as the worker does. Both look for what is no number first. Both ends are in this process and take
turns; each weight is copied at the end, as an engine copies it into its own. The folder's bytes reach the
disk besides, whenever the system writes them out, which no column here counts.
"""

from __future__ import annotations

import argparse
import os
import platform
import runpy
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, Final

import torch
from safetensors import safe_open
from transformers import AutoConfig, AutoModelForImageTextToText
from transformers.utils import logging

from radrl.policy import shared_prefill, vllm_writer, weight_transfer
from radrl.process import importing
from radrl.storage import complete_weights
from radrl.training import tuning

ROOT: Final = Path(__file__).resolve().parents[1]
SHIPPED: Final = ROOT / "data/06_models/radrl-tiny"
WAYS: Final = ("folder", "memory")

Reads = Callable[[Any], Iterable[tuple[str, torch.Tensor]]]


def random_policy(hidden: int, layers: int) -> Any:
    """A policy of the shipped shape with another width and depth, its weights drawn."""
    config = AutoConfig.from_pretrained(SHIPPED)
    text = config.text_config
    text.hidden_size, text.intermediate_size, text.num_hidden_layers = hidden, 3 * hidden, layers
    text.num_attention_heads, text.num_key_value_heads = hidden // 64, hidden // 128
    text.layer_types = ["full_attention"] * layers
    text.rope_parameters = {**text.rope_parameters, "mrope_section": [8, 12, 12]}
    config.vision_config.out_hidden_size = hidden
    torch.manual_seed(0)
    return AutoModelForImageTextToText.from_config(config).float()


def through_folder(model: Any, work: Path) -> None:
    """Save, read weight by weight, and remove."""
    target = work / "weights"
    complete_weights.check_numbers(model, "the policy", mend="")
    model.save_pretrained(target)
    for file in sorted(target.glob("*.safetensors")):
        with safe_open(file, framework="pt") as opened:
            take((name, opened.get_tensor(name)) for name in opened.keys())  # noqa: SIM118
    shutil.rmtree(target)


def through_memory(
    model: Any, read: Reads, names: dict[str, str], memory: weight_transfer.WeightMemory
) -> None:
    """Lay weight by weight where those before lay, and read."""
    bare = shared_prefill.bare(model)
    weights = weight_transfer.published(bare, tuning.plain_weights(model), names)
    take(read(memory.lay(weights, mend="")))


def take(weights: Iterable[tuple[str, torch.Tensor]]) -> None:
    """Copy each weight, as an engine does into its own."""
    for _, weight in weights:
        torch.empty_like(weight).copy_(weight)


def worker_reads() -> Reads:
    """How vLLM's worker reads what lies in memory; its script stands alone."""
    sys.path.insert(0, str(vllm_writer.SCRIPT.parent))
    found: Callable[[Any], Iterable[tuple[str, torch.Tensor]]] = runpy.run_path(str(vllm_writer.SCRIPT))[
        "read"
    ]
    return found


@contextmanager
def timed(into: list[tuple[float, float]]) -> Any:
    """Note the wall's clock and the CPU time of a block."""
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    into.append((time.perf_counter() - wall, time.process_time() - cpu))


def page(given: argparse.Namespace) -> str:
    """The table under its head."""
    model, read = random_policy(given.hidden, given.layers), worker_reads()
    size = sum(weight.nbytes for weight in model.state_dict().values()) / 2**20
    names: dict[str, str] = {}
    memory = weight_transfer.WeightMemory(torch.float32)
    spent: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as work:
        for _ in range(given.rounds + 1):
            with timed(spent["folder"]):
                through_folder(model, Path(work))
            with timed(spent["memory"]):
                through_memory(model, read, names, memory)
    rows = []
    for number, measure in enumerate(("wall", "CPU")):
        one, other = ([taken[number] for taken in spent[way][1:]] for way in WAYS)
        ratios = sorted(a / b for a, b in zip(one, other, strict=True))
        rows.append(
            f"| {measure} | {median(one):.2f} | {median(other):.2f} "
            f"| {median(ratios):.1f} ({ratios[0]:.1f} to {ratios[-1]:.1f}) |"
        )
    ours = ", ".join(f"{name} {version(name)}" for name in ("transformers", "torch", "safetensors"))
    return "\n".join(
        [
            f"Made by `python bench/weight_transfer.py --hidden {given.hidden} --layers {given.layers} "
            f"--rounds {given.rounds} --write docs/bench/weight_transfer.md`: {ours}; Python "
            f"{platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores, one thread. "
            f"{size:,.0f} MiB of weights in float32, {given.rounds} rounds after one to warm up.",
            "",
            "| seconds | folder | memory | folder / memory (least to largest of rounds) |",
            "|---|---|---|---|",
            *rows,
            "",
            "Above 1 memory is faster. It is kept from one time to the next, so that its pages are "
            "found once; the system's cache takes the folder whole here. The memory's way is there so "
            "that nothing of a policy lies on the disk, no second model is made, and processes need no "
            "folder that all of them see.",
            "",
            "Not counted: the bytes that the folder puts on the disk; adapters, for which the folder's way "
            "copied the model first; and what vLLM does with what it has read.",
            "",
        ]
    )


def main() -> None:
    """Take turns, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hidden", type=int, default=1024, help="width, a multiple of 128")
    parser.add_argument("--layers", type=int, default=12, help="depth")
    parser.add_argument("--rounds", type=int, default=5, help="of both ways, after one to warm up")
    parser.add_argument("--write", type=Path, help="write the page here, under its head")
    given = parser.parse_args()
    importing.go_offline()
    logging.disable_progress_bar()
    torch.set_num_threads(1)
    text = page(given)
    print(text)
    if given.write:
        given.write.write_text(f"# bench/weight_transfer\n\n{text}")


if __name__ == "__main__":
    main()
