"""What `radrl plan` says of memory, beside what was measured of the shipped policy on a CPU.

    python bench/plan_memory.py                           # four minutes of a core
    python bench/plan_memory.py --sizes 112 --at-once 4 --write docs/bench/plan_memory.md

Two comparisons. Kept: bytes that torch keeps of a token in a layer for the backward pass, counted by its own
hook on saved tensors in models of two and four layers, and `plan.memory.saved_bytes`. Peak: what two steps
of training added to a process, each cell in a process of its own (peak resident memory less what it was
before the first step, policy and frozen start loaded), and the plan's fullest moment less weights and frozen
start.
Reports are of one length, which the plan is told. A process keeps some memory that it has freed, and torch's
products take room of their own, so measured lies above what tensors need.
"""

from __future__ import annotations

import argparse
import platform
import tempfile
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import psutil
import torch
import yaml
from grpo_steps import measure, policies, ways
from grpo_steps.scripts import FIRST_MARKER
from torch.autograd.graph import saved_tensors_hooks
from transformers import Qwen2_5_VLForConditionalGeneration
from transformers.utils import logging

from radrl.plan import memory, peak_memory, shapes
from radrl.plan.counts import Sample, patches
from radrl.policy import qwen
from radrl.process import importing
from radrl.process.devices import pin
from radrl.training import tuning
from radrl.training.supervised.fine_tuning import Examples, fine_tune

ROOT: Final = Path(__file__).resolve().parents[1]
START: Final = ROOT / "data/06_models/radrl-tiny"
MIB: Final = 2**20
LARGE: Final = 500
"""MiB above which what a process takes whatever it holds hardly counts."""
SHAPE: Final = {
    "vocab_size": 500,
    "hidden": 256,
    "layers": 2,
    "heads": 8,
    "kv_heads": 2,
    "feed_forward": 1000,
    "vision_hidden": 160,
    "vision_layers": 2,
    "vision_heads": 4,
    "vision_feed_forward": 500,
    "patch_size": 14,
    "merge_size": 2,
}
IDS: Final = {
    "image_token_id": 5,
    "video_token_id": 6,
    "vision_start_token_id": 3,
    "vision_end_token_id": 4,
}
LORA: Final = {
    "rank": 8,
    "alpha": 16,
    "dropout": 0.05,
    "targets": ["model.language_model.layers.*.self_attn.*_proj", "model.language_model.layers.*.mlp.*_proj"],
}
CASES: Final = (
    ("full", "float32"),
    ("full", "bfloat16"),
    ("vision", "float32"),
    ("vision", "bfloat16"),
    ("lora", "float32"),
    ("lora", "bfloat16"),
)
"""What trains, and the dtype of what does not; bfloat16 goes with autocast."""


def kept() -> Iterator[tuple[str, str, str, int, int]]:
    """A row a case and part: what trains, dtype, part, counted and planned bytes of a token in a layer."""
    for tunes, dtype in CASES:
        few, many = ({part: _slope(tunes, dtype, layers, part) for part in PARTS} for layers in (2, 4))
        for part in PARTS:
            counted = round((many[part] - few[part]) / 2)
            if planned := _planned(tunes, dtype, part):
                yield tunes, dtype, part, counted, planned


PARTS: Final = ("language", "vision")


def _planned(tunes: str, dtype: str, part: str) -> int:
    sizes = shapes.shape_of_config("bench", shapes.tiny(SHAPE, 112)).sizes
    products = 2 if dtype == "bfloat16" else 4
    own = sizes.language if part == "language" else sizes.tower
    if part == "vision" and tunes == "lora":
        return 0  # its adapters are on the language model alone
    learns = tunes in ("full", part)
    residual = products if part == "vision" or tunes != "full" else 4
    found = memory.saved_bytes(own, product_bytes=products, residual_bytes=residual, trains=learns)
    if tunes == "lora":
        inputs = 5 * own.hidden + own.heads + own.feed_forward
        found += memory.adapters_kept(inputs, LORA["rank"], 7, product_bytes=products)
    return found


def _slope(tunes: str, dtype: str, layers: int, part: str) -> float:
    """Bytes that are kept of a token more, in all layers of a part."""
    counted = []
    for number in (1, 3):
        films, text = (1, 200 * number) if part == "language" else (number, 200)
        depth = {"layers": layers} if part == "language" else {"vision_layers": layers}
        counted.append(_saved(tunes, dtype, depth, films, text))
    return (counted[1] - counted[0]) / (400 if part == "language" else 2 * 256)


def _saved(tunes: str, dtype: str, depth: dict[str, int], films: int, text: int) -> int:
    """Bytes of all tensors that a forward pass keeps, each storage once, the model's own weights left out."""
    torch.manual_seed(0)
    config = shapes.shape_of_config("bench", {**shapes.tiny({**SHAPE, **depth}, 112), **IDS}).config
    model = Qwen2_5_VLForConditionalGeneration(config)
    qwen.enable(model)
    model = tuning.prepare(model, tunes, LORA, dtype).train()
    inner = (model.get_base_model() if tunes == "lora" else model).model
    known = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
    found: dict[int, torch.Tensor] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        place = tensor.untyped_storage().data_ptr()
        if place not in known:
            found[place] = tensor
        return tensor

    token = model.config.image_token_id
    film = torch.tensor([1, *[token] * 64])
    ids = torch.cat([*[film] * films, torch.arange(text) % 100 + 10])[None]
    given = {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "mm_token_type_ids": (ids == token).int(),
        "pixel_values": torch.randn(films * 256, 1176),
        "image_grid_thw": torch.tensor([[1, 16, 16]] * films),
        "use_cache": False,
    }
    autocast = torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bfloat16")
    with saved_tensors_hooks(pack, lambda tensor: tensor), autocast:
        inner(**given)
    return sum(tensor.untyped_storage().nbytes() for tensor in found.values())


def peak(
    size: int, at_once: int, tokens: int, films: int, *, checkpointing: bool = False
) -> tuple[float, float]:
    """MiB that a training of two steps added, measured and planned.

    Args:
        size: of the films in pixels.
        at_once: rollouts that go through the model together.
        tokens: of every report.
        films: of a step, each with eight rollouts.
        checkpointing: whether layers are computed again.
    """
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    group, steps = params["training"]["rollouts"], 2
    cell = measure.Cell(size, group, tokens)
    settings = measure.settings_of(cell, params["training"], films=films, steps=steps)
    settings |= {"rollouts_at_once": at_once, "max_new_tokens": tokens, "watch": None}
    settings |= {"gradient_checkpointing": checkpointing}
    drawn = policies.records(size, films * steps)
    prompts = policies.prompts(drawn, params["prompts"]["plain"])
    processor = policies.load(START, size).processor
    said = [
        [
            [FIRST_MARKER + row, *[FIRST_MARKER] * (tokens - 2), processor.tokenizer.eos_token_id]
            for row in step
        ]
        for step in ([*range(films * group)],) * steps
    ]
    reward = policies.reward(params, [own.findings for own in drawn])
    job = measure.Job(cell, START, prompts, said, reward, settings)
    measured = measure.in_a_process("shared", job)["memory"]
    shape = shapes.of_folder(START)
    counted = shapes.count(shapes.model(shape), "full")
    own = memory.Setting(4, autocast=False, start=True, checkpointing=checkpointing, accelerator=False)
    sample = Sample(1, patches(size, patch=14, merge=2), policies.prompt_tokens(processor, prompts), tokens)
    model = peak_memory.Model(shape.sizes, counted.weights, counted.adapted)
    moments = peak_memory.of_training(model, own, settings, sample, tunes="full")
    planned = max(sum(items.values()) for items in moments.values())
    held = memory.persistent_bytes(counted.weights, own)
    return measured / MIB, (planned - held["weights"] - held["frozen start"]) / MIB


def lessons(size: int, at_once: int, tokens: int, tunes: str) -> tuple[float, float]:
    """The same of two steps of a cold start.

    Args:
        size: of the films in pixels.
        at_once: examples that go through the model together.
        tokens: of every report; longer ones are cut, shorter ones are repeated until they are.
        tunes: what trains.
    """
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    settings = params["sft"] | {"epochs": 1, "batch_size": at_once, "examples_at_once": at_once}
    settings |= {"max_tokens": tokens, "checkpoint_every": 100, "tunes": tunes}
    drawn = policies.records(size, 2 * at_once)
    prompts = policies.prompts(drawn, params["prompts"]["plain"])
    reports = [own.findings for own in drawn]
    measured = measure.apart("cpu", _taught, size, settings, policies.films(drawn), reports)
    policy = policies.load(START, size)
    shape = shapes.of_folder(START)
    counted = shapes.count(shapes.model(shape), tunes, settings["lora"])
    own = memory.Setting(4, autocast=False, accelerator=False)
    prompt = policies.prompt_tokens(policy.processor, prompts)
    sample = Sample(1, patches(size, patch=14, merge=2), prompt, tokens)
    model = peak_memory.Model(shape.sizes, counted.weights, counted.adapted, settings["lora"]["rank"])
    moments = peak_memory.of_fine_tuning(model, own, settings, sample, tunes=tunes, section="sft")
    planned = max(sum(items.values()) for items in moments.values())
    return measured / MIB, (planned - memory.persistent_bytes(counted.weights, own)["weights"]) / MIB


def _taught(
    size: int, settings: dict[str, Any], films: Sequence[tuple[bytes]], reports: Sequence[str]
) -> int:
    """Bytes that a cold start adds to its process at the peak."""
    policy = policies.load(START, size)
    said = [" ".join([report] * 8) for report in reports]
    examples = Examples.asking("Write the findings of this chest X-ray.", films, said)
    with tempfile.TemporaryDirectory() as workspace:
        before = psutil.Process().memory_info().rss
        fine_tune(
            policy, examples, settings=settings, seed=0, workspace=Path(workspace), tunes=settings["tunes"]
        )
    return ways.peak(torch.device("cpu")) - before


Rows = Sequence[tuple[str, int, int, float, float]]
"""What trains how, pixels, how many at once, MiB measured and planned."""


def page(rows: Rows, tokens: int) -> str:
    """The page of both comparisons."""
    every, large = (
        sorted(planned / measured for *_, measured, planned in rows if measured > least)
        for least in (0, LARGE)
    )
    spread = f"{every[0]:.2f} to {every[-1]:.2f}"
    if large:
        spread += f", {large[0]:.2f} to {large[-1]:.2f} where more than {LARGE} MiB are held"
    lines = [
        "# bench/plan_memory",
        "",
        "Made by `python bench/plan_memory.py --write docs/bench/plan_memory.md`: "
        f"torch {torch.__version__}, transformers {version('transformers')}, "
        f"Python {platform.python_version()}; one thread of a {platform.machine()} CPU.",
        "",
        "## What a training adds to its process",
        "",
        f"The shipped policy, reports of {tokens} tokens, 8 rollouts a film. Planned is {spread}. What is "
        "missing where little is held is some 30 to 130 MiB that a process takes whatever it holds; the "
        "plan's reserve of a CPU is for them. How many copies of the films a CPU "
        "holds was chosen by these rows.",
        "",
        "| training | pixels | at once | MiB, measured | MiB, planned | planned / measured |",
        "|---|---|---|---|---|---|",
    ]
    for name, size, at_once, measured, planned in rows:
        lines.append(
            f"| {name} | {size} | {at_once} | {measured:.0f} | {planned:.0f} | {planned / measured:.2f} |"
        )
    lines += [
        "",
        "## What torch keeps of a token in a layer",
        "",
        "| trains | dtype of the rest | part | bytes, counted | bytes, planned | planned / counted |",
        "|---|---|---|---|---|---|",
    ]
    for tunes, dtype, part, counted, planned in kept():
        ratio = f"{planned / counted:.3f}"
        lines.append(f"| {tunes} | {dtype} | {part} | {counted:,} | {planned:,} | {ratio} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, plan, print or write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[112, 224, 448], help="pixels of a film's side"
    )
    parser.add_argument("--at-once", type=int, nargs="+", default=[4, 16], help="rollouts at once")
    parser.add_argument("--tokens", type=int, default=96, help="of a report")
    parser.add_argument("--films", type=int, default=4, help="of a step")
    parser.add_argument("--write", type=Path, help="write the page here")
    given: Any = parser.parse_args()
    importing.go_offline()
    logging.set_verbosity_error()
    pin(1, torch.device("cpu"))
    rows: list[tuple[str, int, int, float, float]] = []
    for size in given.sizes:
        for at_once in given.at_once:
            for name, again in {"rewards": False, "rewards, checkpointing": True}.items():
                found = peak(size, at_once, given.tokens, given.films, checkpointing=again)
                rows.append((name, size, at_once, *found))
            for tunes in ("vision", "full", "lora"):
                found = lessons(size, at_once, given.tokens, tunes)
                rows.append((f"cold start, {tunes}", size, at_once, *found))
    text = page(rows, given.tokens)
    if given.write:
        given.write.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
