"""What writing a token costs: transformers' generate, the same from a shared prefill, and radrl's decoding.

    python bench/decoding.py                              # the table
    python bench/decoding.py --rounds 5 --write docs/bench/decoding.md

The shipped policy writes on drawn films as a training step does (G = 8), as rollouts do (K = 10, nucleus 0.9)
and as the stage generate does (greedy, more films). "Rows" is what stock trainers ask for: a film and a
prompt for each rollout. "Copies" reads each prompt once and hands copies of its cache to transformers'
generate, which was radrl's way before. Sampled reports differ between the ways, so a token's cost is
compared, ends included, padding not. Counted is CPU time, by `time.process_time`, one thread; the ways take
turns, so what else the machine does falls on all.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import platform
import pstats
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, Final

import torch
import yaml
from PIL import Image
from transformers import DynamicCache

from radrl.policy import decoding, folder, vision_chunks
from radrl.policy.encoding import encode_prompts
from radrl.policy.folder import Policy
from radrl.policy.shared_prefill import by_row, write_on
from radrl.process import offline
from radrl.process.runtime import pin
from radrl.training import device_placement

ROOT: Final = Path(__file__).resolve().parents[1]
SIZES: Final = (112, 224, 448)
PLAIN: Final = {"num_beams": 1, "repetition_penalty": 1.0}
DRAWN: Final = {**PLAIN, "do_sample": True, "temperature": 1.0, "top_k": 0}
CASES: Final[dict[str, tuple[int, int, dict[str, Any]]]] = {
    "training step, G = 8": (1, 8, {**DRAWN, "top_p": 1.0, "max_new_tokens": 96}),
    "rollouts, K = 10, nucleus": (1, 10, {**DRAWN, "top_p": 0.9, "max_new_tokens": 96}),
    "generate, greedy": (8, 1, {**PLAIN, "do_sample": False, "max_new_tokens": 128}),
}
"""Of each case how many times the films of a batch, the reports on a film, and what `generate` is asked."""
PARTS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "linear layers": (("~", "torch._C._nn.linear"),),
    "attention": (("sdpa_attention.py", "sdpa_attention_forward"), ("shared_prompts.py", "attend")),
    "growing the cache": (("cache_utils.py", "update"),),
    "choosing a token": (
        ("logits_process.py", "__call__"),
        ("~", "torch.multinomial"),
        ("~", "torch.argmax"),
        ("decoding.py", "__call__"),
    ),
}
"""Functions by file and name, whose time with all they call is counted; of those alike the outermost's."""


@dataclass(frozen=True, slots=True)
class Spent:
    """CPU seconds, and the tokens that came of them."""

    seconds: float
    tokens: int

    @property
    def a_token(self) -> float:
        """In milliseconds."""
        return 1000 * self.seconds / self.tokens


Way = Callable[[Any, Mapping[str, torch.Tensor], torch.Tensor, Mapping[str, Any]], torch.Tensor]
"""Of a model, P prompts, the prompt of each of N rows and settings, what is written."""


def rows(model: Any, inputs: Any, owners: torch.Tensor, settings: Any) -> torch.Tensor:
    """transformers' generate with a film and a prompt for each row."""
    pixels, grids = by_row(
        inputs["mm_token_type_ids"], inputs["pixel_values"], inputs["image_grid_thw"], model.config
    )
    own = {name: inputs[name][owners] for name in ("input_ids", "attention_mask", "mm_token_type_ids")}
    own["pixel_values"] = torch.cat([pixels[i] for i in owners.tolist()])
    own["image_grid_thw"] = torch.cat([grids[i] for i in owners.tolist()])
    return model.generate(**own, **settings)


@torch.no_grad()
def copies(model: Any, inputs: Any, owners: torch.Tensor, settings: Any) -> torch.Tensor:
    """transformers' generate from copies of caches; it computes each row's last prompt token again."""
    cache = model(**inputs, use_cache=True, logits_to_keep=1).past_key_values
    cache.crop(-1)
    cache.batch_select_indices(owners)
    model.model.rope_deltas = model.model.rope_deltas[owners]
    own = {name: inputs[name][owners] for name in ("input_ids", "attention_mask")}
    return model.generate(**own, past_key_values=cache, **settings)


def shared(model: Any, inputs: Any, owners: torch.Tensor, settings: Any) -> torch.Tensor:
    """radrl's decoding."""
    return write_on(model, inputs, owners, **settings)


WAYS: Final[dict[str, Way]] = {"rows": rows, "copies": copies, "radrl": shared}


def prompts(policy: Policy, size: int, films: int, prompt: str) -> Mapping[str, torch.Tensor]:
    """Prompts on drawn films of a size in pixels."""
    from radrl.data.sources import phantom  # here, for it needs scipy, and others import the ways alone

    policy.processor.image_processor.size = {"shortest_edge": size**2, "longest_edge": size**2}
    drawn = phantom.read(seed=0, studies={"test": films}, image_size=size, lateral_share=0)
    pictures = [[Image.fromarray(own.image()).convert("RGB")] for own in drawn]
    return dict(encode_prompts(policy.processor, pictures, [prompt] * len(pictures)))


def spend(way: Way, policy: Policy, inputs: Any, owners: torch.Tensor, settings: Any) -> Spent:
    """Let a policy write once."""
    start, pad = inputs["input_ids"].shape[1], policy.processor.tokenizer.pad_token_id
    began = time.process_time()
    written = way(policy.model, inputs, owners, settings)
    seconds = time.process_time() - began
    return Spent(seconds, int((written[:, start:] != pad).sum()))


def held(model: Any, inputs: Any, owners: torch.Tensor, settings: Any) -> tuple[int, int]:
    """Bytes of keys and values at their most, of transformers' cache and of radrl's."""
    kept = {**settings, "return_dict_in_generate": True}
    whole = rows(model, inputs, owners, kept).past_key_values  # type: ignore[attr-defined]
    most, read = [0], [0]
    plain = decoding.prefilled

    class Counting(DynamicCache):
        def update(self, *args: Any, **kwargs: Any) -> Any:
            found = super().update(*args, **kwargs)
            most[0] = max(most[0], _bytes(self))
            return found

    def counting(*args: Any) -> Any:
        found = plain(*args)
        read[0] = sum(own.nbytes for layer in found[2].layers for own in layer)
        return found

    decoding.DynamicCache, decoding.prefilled = Counting, counting  # type: ignore[misc]
    try:
        shared(model, inputs, owners, settings)
    finally:
        decoding.DynamicCache, decoding.prefilled = DynamicCache, plain  # type: ignore[misc]
    return _bytes(whole), read[0] + most[0]


def _bytes(cache: Any) -> int:
    return sum(own.keys.nbytes + own.values.nbytes for own in cache.layers)


def parts(way: Way, policy: Policy, inputs: Any, owners: torch.Tensor, settings: Any) -> dict[str, float]:
    """Milliseconds a token of what decoding does, by the profiler, whose own cost falls on `the rest`."""
    profile = cProfile.Profile(time.process_time)
    spent = profile.runcall(spend, way, policy, inputs, owners, settings)
    stats = pstats.Stats(profile)
    seconds: dict[tuple[str, str], float] = {}
    for (file, _, name), (*_, cumulative, _) in stats.stats.items():  # type: ignore[attr-defined]
        for own in (one for functions in PARTS.values() for one in functions):
            if Path(file).name == own[0] and own[1] in name:
                seconds[own] = max(seconds.get(own, 0.0), cumulative)
    found = {
        part: 1000 * sum(seconds.get(own, 0.0) for own in functions) / spent.tokens
        for part, functions in PARTS.items()
    }
    return found | {"the rest": spent.a_token - sum(found.values())}


def look(policy: Policy, size: int, window: int, films: int) -> tuple[float, float]:
    """CPU seconds in which the tower sees films chunk by chunk, and equal chunks together."""
    tower = policy.model.model.visual
    own = tower.window_size, tower.config._attn_implementation
    side = size // tower.patch_size
    grids = torch.tensor([[1, side, side]] * films)
    pixels = torch.randn(films * side**2, tower.patch_embed.proj.weight[0].numel())
    tower.window_size, seconds = window, []
    for attention in ("sdpa", vision_chunks.NAME):
        tower.config._attn_implementation = attention
        began = time.process_time()
        with torch.no_grad():
            tower(pixels, grid_thw=grids)
        seconds.append(time.process_time() - began)
    tower.window_size, tower.config._attn_implementation = own
    return seconds[0], seconds[1]


def _spread(ratios: Sequence[float]) -> str:
    return f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def compare(policy: Policy, given: argparse.Namespace, prompt: str) -> list[str]:
    """The table of ways."""
    lines = [
        "| case | film | tokens a report | rows, ms a token | copies | radrl | radrl, tokens/s "
        "| rows / radrl (least to largest of rounds) | copies / radrl | cache, MB: transformers | radrl |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for size in given.sizes:
        for case, (times, count, settings) in CASES.items():
            print(f"{case}, {size} pixels", file=sys.stderr)
            inputs = prompts(policy, size, times * given.films, prompt)
            owners = torch.arange(times * given.films).repeat_interleave(count)
            own = policy, inputs, owners, settings | {"max_new_tokens": _tokens(settings, given)}
            spent: dict[str, list[Spent]] = defaultdict(list)
            for number in range(given.rounds + 1):
                torch.manual_seed(number)
                for name, way in WAYS.items():
                    one = spend(way, *own)
                    if number:  # the first warms up
                        spent[name].append(one)
            costs = {name: [one.a_token for one in found] for name, found in spent.items()}
            ratios = [
                [one / other for one, other in zip(costs[name], costs["radrl"], strict=True)]
                for name in ("rows", "copies")
            ]
            whole, ours = (number / 1e6 for number in held(policy.model, *own[1:]))
            length = median(one.tokens for one in spent["radrl"]) / len(owners)
            lines.append(
                f"| {case} | {size} | {length:.0f} | "
                + " | ".join(f"{median(costs[name]):.3f}" for name in WAYS)
                + f" | {1000 / median(costs['radrl']):,.0f} | {_spread(ratios[0])} | {_spread(ratios[1])} "
                f"| {whole:.1f} | {ours:.1f} |"
            )
    return lines


def apart(policy: Policy, given: argparse.Namespace, prompt: str) -> list[str]:
    """The table of parts, on films of the first size."""
    lines = [
        "| ms a token | way | " + " | ".join([*PARTS, "the rest"]) + " |",
        "|---" * (len(PARTS) + 3) + "|",
    ]
    for case, (times, count, settings) in CASES.items():
        inputs = prompts(policy, given.sizes[0], times * given.films, prompt)
        owners = torch.arange(times * given.films).repeat_interleave(count)
        for name, way in WAYS.items():
            torch.manual_seed(0)
            asked = settings | {"max_new_tokens": _tokens(settings, given)}
            found = parts(way, policy, inputs, owners, asked)
            lines.append(f"| {case} | {name} | " + " | ".join(f"{one:.3f}" for one in found.values()) + " |")
    return lines


def chunks(policy: Policy, given: argparse.Namespace) -> list[str]:
    """The table of the vision tower."""
    lines = [
        "| film | window | chunks a film | one by one / equal ones together (least to largest of rounds) |",
        "|---|---|---|---|",
    ]
    for size in given.sizes:
        for window in dict.fromkeys((size, 112, 56)):
            pairs = [look(policy, size, window, given.films) for _ in range(given.rounds + 1)][1:]
            ratio = _spread([one / other for one, other in pairs])
            lines.append(f"| {size} | {window} | {(size // window) ** 2} | {ratio} |")
    return lines


def _tokens(settings: Mapping[str, Any], given: argparse.Namespace) -> int:
    return min(settings["max_new_tokens"], given.tokens)


def page(policy: Policy, given: argparse.Namespace, prompt: str) -> str:
    """All tables, with how they were made."""
    command = " ".join(["python bench/decoding.py", *sys.argv[1:]])
    versions = ", ".join(f"{name} {version(name)}" for name in ("transformers", "torch"))
    return "\n".join(
        [
            f"Made by `{command}`: {versions}, Python {platform.python_version()}, {platform.machine()}, "
            f"{os.cpu_count()} cores, one thread; {given.films} films a batch, {given.rounds} rounds, "
            f"a policy of {policy.model.num_parameters() / 1e6:.1f} M parameters. CPU time, by process_time.",
            "",
            "Rows: transformers' `generate` with a film and a prompt for each rollout. Copies: the same "
            "from a prefill of each prompt, copied. radrl: prompts held once, rows leave when they end, "
            "draws by row. Tokens are those before and at the end; the policy knows films of 112 pixels, so "
            "lengths at others say nothing about reports. The greedy case has 8 times as many films.",
            "",
            *compare(policy, given, prompt),
            "",
            f"Where a token's time goes, films of {given.sizes[0]} pixels, under Python's profiler, which "
            "makes the rest (norms, rotary positions, Python) look dearer than it is:",
            "",
            *apart(policy, given, prompt),
            "",
            f"The tower's look at {given.films} films, outputs equal to the bit or to float rounding:",
            "",
            *chunks(policy, given),
            "",
        ]
    )


def main() -> None:
    """Take turns, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="of all ways, after one to warm up")
    parser.add_argument("--films", type=int, default=8, help="of a batch")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="of films, in pixels")
    parser.add_argument("--tokens", type=int, default=128, help="most that a report may have in any case")
    parser.add_argument(
        "--policy", type=Path, help="a policy's folder; params.yaml's policy.path if left out"
    )
    parser.add_argument("--write", type=Path, help="write the page here, under its head")
    given = parser.parse_args()
    offline.apply()
    pin(1, device_placement.CPU)
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    policy = folder.load(given.policy or ROOT / params["policy"]["path"])
    text = page(policy, given, params["prompts"]["plain"])
    print(text)
    if given.write:
        given.write.write_text("# bench/decoding\n\n" + text)


if __name__ == "__main__":
    main()
