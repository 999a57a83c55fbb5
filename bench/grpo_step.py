"""What a GRPO step costs in stock TRL, with the film shared, and with film and prompt shared.

    python bench/grpo_step.py --quick                     # one cell, under a minute
    python bench/grpo_step.py --write docs/bench/grpo_step.md
    python bench/grpo_step.py --resume --write ...        # after a kill: measured cells are kept
    python bench/grpo_step.py --policy 3b                 # on a GPU: Qwen2.5-VL-3B's shape, a recipe
    python bench/grpo_step.py --policy 3b --cpu-twin      # the same with a few narrow layers, on a CPU

The peer is `trl.GRPOTrainer` as it is, with the same policy, films, reward, seed, batches and rollouts; the
ways are told in grpo_steps/ways.py, how generation is held to given lengths in grpo_steps/scripts.py. The
laptop's policy is params.yaml's, untrained, its vision tower looking at windows of 112 pixels whatever the
film. On a CPU seconds are of the CPU (`time.process_time`, one thread) and memory is what training adds to
its process at the peak; on a GPU seconds are of the wall and memory is what was allocated at the peak. Ways
take turns, each time in a process of its own. No figure of the GPU's path has been measured yet.
"""

from __future__ import annotations

import argparse
import platform
import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any, Final

import yaml
from tqdm import tqdm

from radrl.process import offline

offline.apply()  # before the hub's libraries are imported

import torch  # noqa: E402
from grpo_steps import count, measure, page, policies, scripts, ways  # noqa: E402
from grpo_steps.measure import Cell, Job  # noqa: E402
from grpo_steps.results import Results  # noqa: E402
from transformers import AutoConfig  # noqa: E402
from transformers.utils import logging  # noqa: E402
from trl.trainer.utils import get_peak_flops  # noqa: E402

from radrl.process.runtime import pin  # noqa: E402

ROOT: Final = Path(__file__).resolve().parents[1]
FILMS: Final = 4
ROLLOUTS: Final = 32
"""Most of a step on the laptop."""
RECIPES: Final = {"mrg_r1": "mrg_r1-mimic_cxr", "deer": "deer-mimic_cxr"}


@dataclass(frozen=True)
class Bench:
    """What is measured, whatever the cell.

    Args:
        params: of the project, or of a paper's recipe.
        films: of a step; nothing for as many as `FILMS` and `ROLLOUTS` allow.
        device: where.
    """

    params: Mapping[str, Any]
    films: int | None
    device: str = "cpu"


def options(given: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    number = {"type": int, "nargs": "+"}
    parser.add_argument("--sizes", **number, help="of the films, in pixels; 112 224 448 672")
    parser.add_argument("--groups", **number, help="rollouts of a film; 4 8 16, or the paper's")
    parser.add_argument("--tokens", **number, help="of a report in the median; 40 120")
    parser.add_argument("--ways", nargs="+", choices=ways.WAYS, default=list(ways.WAYS))
    parser.add_argument("--rounds", type=int, default=2, help="of all ways")
    parser.add_argument("--steps", type=int, default=3, help="of a round; the first is not counted")
    parser.add_argument("--quick", action="store_true", help="films of 224, G = 8, 40 tokens, one round")
    parser.add_argument("--results", type=Path, default=ROOT / "build/grpo_step.jsonl", help="kept here")
    parser.add_argument("--resume", action="store_true", help="go on with what is kept there")
    parser.add_argument("--write", type=Path, help="write the page here, under its head")
    parser.add_argument("--policy", choices=["laptop", "3b"], default="laptop")
    parser.add_argument("--recipe", choices=RECIPES, default="mrg_r1", help="settings of --policy 3b")
    parser.add_argument("--cpu-twin", action="store_true", help="a few narrow layers instead, on the CPU")
    parser.add_argument("--layers", type=int, default=2, help="of the twin")
    parser.add_argument("--peak-tflops", type=float, help="of the card, where TRL's table lacks it")
    own = parser.parse_args(given)
    if own.quick:
        own.sizes, own.groups, own.tokens, own.rounds = [224], [8], [40], 1
    own.tokens = own.tokens or [40, 120]
    if own.steps < 2:
        parser.error("--steps: the first is not counted, so there must be two")
    return own


def job(bench: Bench, cell: Cell, start: Path, texts: Sequence[str], steps: int) -> Job:
    """A cell of the table as its processes are handed it."""
    films = bench.films or min(FILMS, ROLLOUTS // cell.group)
    processor = policies.reads(start, cell.size)
    told = measure.settings_of(cell, bench.params["training"], films=films, steps=steps)
    written = scripts.write(
        processor.tokenizer, texts, tokens=cell.tokens, rows=films * cell.group, steps=steps
    )
    told["max_new_tokens"] = max(len(script) for step in written for script in step)
    return Job(
        cell,
        start,
        policies.prompts(
            policies.records(cell.size, 2 * films * steps)[: films * steps], bench.params["prompts"]["plain"]
        ),
        written,
        policies.reward(bench.params, texts),
        told,
        bench.device,
        bench.params["policy"]["dtype"],
    )


def counted(own: Job) -> dict[str, count.Operations]:
    """Operations of a cell's counted steps, by way."""
    shapes = count.shapes(AutoConfig.from_pretrained(own.start))
    prompt = policies.prompt_tokens(policies.reads(own.start, own.cell.size), own.prompts)
    at_once = measure.parts(own.settings).size
    by_way: dict[str, count.Operations] = {}
    for way in ways.WAYS:
        steps = [
            count.of_way(
                way, *shapes, count.Step(own.cell.size, prompt, [*map(len, step)], own.cell.group, at_once)
            )
            for step in own.scripts[1:]
        ]
        by_way[way] = count.Operations(sum(s.rollout for s in steps), sum(s.forward for s in steps))
    return by_way


def run(
    own: argparse.Namespace,
    bench: Bench,
    start: Path,
    texts: Sequence[str],
    about: str,
    peak: float | None = None,
) -> str:
    """Measure what is not there yet, and make the page.

    Args:
        own: the command line.
        bench: what is measured.
        start: folder of the policy.
        texts: reports that rollouts are made of.
        about: the page's head.
        peak: operations a second that the card has at its best; nothing on a CPU.
    """
    versions = {name: version(name) for name in ("trl", "transformers", "torch")}
    kept = Results(
        own.results,
        {**versions, "policy": own.policy, "twin": own.cpu_twin, "recipe": own.recipe, "steps": own.steps},
        resume=own.resume,
    )
    cells = [Cell(*each) for each in product(own.sizes, own.groups, own.tokens)]
    operations = {}
    bar = tqdm(total=len(cells) * own.rounds * len(own.ways), desc="grpo_step", file=sys.stderr)
    for cell in cells:
        given = bench, cell, start, texts, own.steps
        operations[cell] = counted(job(*given))
        for turn, way in product(range(own.rounds), own.ways):
            bar.set_postfix_str(f"{cell.size} px, G {cell.group}, {cell.tokens} tokens, {way}")
            key = (*cell, way, turn)
            if key not in kept.found:
                kept.add(key, measure.made_in_a_process(way, bench.device, job, *given))
            bar.update()
    bar.close()
    asked_for = {
        key: value
        for key, value in kept.found.items()
        if Cell(*key[:3]) in operations and key[3] in own.ways and key[4] < own.rounds
    }
    return page.page(asked_for, operations, about, peak, targets=own.policy == "laptop")


def described(own: argparse.Namespace, what: str, device: str) -> str:
    """Command line, policy, versions and machine."""
    command = " ".join(["python bench/grpo_step.py", shlex.join(sys.argv[1:])]).strip()
    names = ", ".join(f"{name} {version(name)}" for name in ("trl", "transformers", "torch"))
    return (
        f"Made by `{command}`: {what}; {own.rounds} rounds of {own.steps} steps, the first of each not "
        f"counted; {names}, Python {platform.python_version()}; {device}."
    )


def laptop(own: argparse.Namespace, work: Path) -> str:
    """The laptop's policy on the CPU."""
    own.sizes, own.groups = own.sizes or [112, 224, 448, 672], own.groups or [4, 8, 16]
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    texts = [record.findings for record in policies.records(policies.WINDOW)]
    policies.save(policies.laptop(params, texts), work / "start")
    what = (
        f"params.yaml's laptop policy, {FILMS} films a step or as many as {ROLLOUTS} rollouts allow, "
        f"in parts of {params['training']['rollouts_at_once']}"
    )
    about = described(own, what, f"one thread of a {platform.machine()} CPU")
    return run(own, Bench(params, None), work / "start", texts, about)


def of_paper(own: argparse.Namespace, work: Path) -> str:
    """Qwen2.5-VL-3B's shape at a paper's settings, or its twin on the CPU."""
    device = "cpu" if own.cpu_twin else "cuda"
    params = paper(own.recipe, whole=not own.cpu_twin)
    own.sizes = own.sizes or [params["ingest"]["image_size"]]
    own.groups = own.groups or [params["training"]["rollouts"]]
    shape = policies.twin(own.layers) if own.cpu_twin else policies.REAL
    name = f"{own.layers} narrow layers on a CPU" if own.cpu_twin else torch.cuda.get_device_name()
    peak = None if own.cpu_twin else peak_of(name, own.peak_tflops)
    texts = [record.findings for record in policies.records(policies.WINDOW)]
    measure.build(shape, texts, work / "start", device=device, dtype=params["policy"]["dtype"])
    what = f"Qwen2.5-VL-3B's shape with random weights, settings of {RECIPES[own.recipe]}, AdamW"
    bench = Bench(params, params["training"]["prompts_per_step"], device)
    return run(own, bench, work / "start", texts, described(own, what, name), peak)


def paper(recipe: str, *, whole: bool) -> dict[str, Any]:
    """A recipe with the reward of the laptop's study, which needs no weights.

    Args:
        recipe: a key of `RECIPES`.
        whole: as it is; otherwise in float32 and without dropout, so that the ways can be told equal.
    """
    params: dict[str, Any] = yaml.safe_load((ROOT / f"conf/recipes/{RECIPES[recipe]}.yaml").read_text())
    own = yaml.safe_load((ROOT / "params.yaml").read_text())
    params |= {name: own[name] for name in ("arms", "labeler")}
    training = params["training"]
    training["optimizer"] = "adamw"  # 8-bit AdamW needs a library of its own, and is the same for all ways
    if not whole:
        params["policy"]["dtype"], training["bf16"] = "float32", False
        training["lora"]["dropout"] = 0.0
    return params


def peak_of(card: str, asked: float | None) -> float:
    """Operations a second that a card has at its best in bfloat16, by TRL's table or as asked.

    Raises:
        SystemExit: with status 2 when neither knows.
    """
    known = asked * 1e12 if asked else get_peak_flops(card, "bfloat16")
    if known is None:
        print(f"TRL's table has no peak for {card!r}: state it with --peak-tflops", file=sys.stderr)
        raise SystemExit(2)
    return known


def refuse_without_gpu(own: argparse.Namespace) -> None:
    """End with status 2 where the real shape has nothing to run on."""
    if own.policy == "3b" and not own.cpu_twin and not torch.cuda.is_available():
        print(
            "--policy 3b needs a GPU that torch sees (torch.cuda.is_available() is false); "
            "its shape with a few narrow layers runs on a CPU: --policy 3b --cpu-twin",
            file=sys.stderr,
        )
        raise SystemExit(2)


def main() -> None:
    """Measure, print and write."""
    own = options()
    refuse_without_gpu(own)
    pin(1, torch.device("cpu"))
    logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as work:
        text = (laptop if own.policy == "laptop" else of_paper)(own, Path(work))
    print(text)
    if own.write:
        own.write.write_text("# bench/grpo_step\n\n" + text)


if __name__ == "__main__":
    main()
