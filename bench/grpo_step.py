"""What a GRPO step costs with and without computing a film and its prompt for each of its rollouts.

    python bench/grpo_step.py                            # about a minute and a half on one core
    python bench/grpo_step.py --rounds 5 --write docs/bench/grpo_step.md

The laptop policy as params.yaml builds it, untrained, on drawn films; the peer is TRL's own way, row by row.
Both generate, then go on with the same rollouts, reports of the corpus: an untrained policy's own would never
end, and lengths are what a step's cost follows. Counted is CPU time, by `time.process_time`, one thread; the
ways take turns, so what else the machine does falls on both.
"""

from __future__ import annotations

import argparse
import io
import platform
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, Final, Literal

import torch
import yaml
from datasets import Dataset
from PIL import Image
from trl import GRPOTrainer

from radrl.credit.uniform import Uniform
from radrl.data.sources import phantom
from radrl.policy import folder, tiny
from radrl.policy.folder import Policy
from radrl.process import offline
from radrl.process.runtime import pin
from radrl.rewards.base import Part, RewardSum
from radrl.training import batches, placing
from radrl.training.reinforcement import grpo
from radrl.training.reinforcement.trainer import ReportGRPOTrainer

ROOT: Final = Path(__file__).resolve().parents[1]
PARTS: Final = ("generation", "frozen start", "forward", "backward", "step")
Seconds = dict[str, list[float]]
"""CPU seconds of each step, by part."""


class Letters:
    """A reward that costs nothing and differs between reports."""

    name, clinical = "letters", True
    reads: Literal["report", "output"] = "report"
    told: Mapping[str, float] = {}

    def __call__(self, reports: Sequence[str], *_: Any) -> list[float]:
        return [sum(map(ord, report)) % 97 / 97 for report in reports]


class RowByRow(ReportGRPOTrainer):
    """TRL's own way: a film and a prompt for each rollout, rows shuffled before they are parted."""

    _generate_single_turn = GRPOTrainer._generate_single_turn
    _prepare_inputs = GRPOTrainer._prepare_inputs
    _get_per_token_logps_and_entropies = GRPOTrainer._get_per_token_logps_and_entropies


class Timing:
    """Counts the parts of a trainer's steps."""

    texts: Sequence[str]
    """What its rollouts are, one after another."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.seconds: Seconds = defaultdict(list)
        self.passing: Counter[str] = Counter()
        tokenizer = settings["processing_class"].tokenizer
        longest = self.max_completion_length - 1
        self.rollouts = [[*tokenizer(x)["input_ids"][:longest], tokenizer.eos_token_id] for x in self.texts]
        backward = self.accelerator.backward

        def timed(loss: torch.Tensor, **kwargs: Any) -> None:
            with self.part("backward"):
                backward(loss, **kwargs)

        self.accelerator.backward = timed

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        began = time.process_time()
        yield
        self.passing[name] += time.process_time() - began

    def training_step(self, *args: Any, **kwargs: Any) -> Any:
        with self.part("step"):
            loss = super().training_step(*args, **kwargs)
        if self.accelerator.sync_gradients:
            for name, seconds in self.passing.items():
                self.seconds[name].append(seconds)
            self.passing.clear()
        return loss

    def _generate_single_turn(self, prompt_ids: Any, *args: Any, **kwargs: Any) -> Any:
        with self.part("generation"):
            super()._generate_single_turn(prompt_ids, *args, **kwargs)
        first = self.state.global_step * len(prompt_ids)
        return [self.rollouts[(first + i) % len(self.rollouts)] for i in range(len(prompt_ids))], None

    def _get_per_token_logps_and_entropies(self, *args: Any, **kwargs: Any) -> Any:
        with self.part("forward" if torch.is_grad_enabled() else "frozen start"):
            return super()._get_per_token_logps_and_entropies(*args, **kwargs)


def measure(way: type, start: Path, prompts: Dataset, texts: Sequence[str], settings: Any) -> Seconds:
    """CPU seconds of the parts of a round's steps but its first."""
    made: list[Any] = []

    class Kept(Timing, way):  # type: ignore[misc,valid-type]
        def __init__(self, **given: Any) -> None:
            self.texts = texts
            super().__init__(**given)
            made.append(self)

    grpo.ReportGRPOTrainer = Kept  # type: ignore[misc]
    with tempfile.TemporaryDirectory() as work:
        grpo.optimise(
            folder.load(start),
            prompts,
            reward=RewardSum([Part(Letters(), 1.0)]),
            credit=Uniform(),
            settings=settings,
            seed=0,
            workspace=Path(work),
        )
    return {name: seconds[1:] for name, seconds in made[0].seconds.items()}


def make(params: Mapping[str, Any], films: int) -> tuple[Policy, Dataset, list[str]]:
    """The laptop policy, some films to write on, and the texts that stand for rollouts."""
    size = params["ingest"]["image_size"]
    records = [
        own
        for own in phantom.read(seed=0, studies={"train": 800}, image_size=size, lateral_share=0)
        if own.findings
    ]
    texts = [own.findings for own in records]
    prompt = params["prompts"]["plain"]
    tokenizer = tiny.train_tokenizer([prompt, *texts], params["policy"]["tiny"]["vocab_size"])
    policy = tiny.build(tokenizer, image_size=size, shape=params["policy"]["tiny"], seed=0)
    pictures = [(_png(own.image()),) for own in records[:films]]
    ids = [own.key for own in records[:films]]
    return policy, grpo.prompt_dataset(pictures, texts[:films], ids, prompt), texts


def _png(film: Any) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(film).save(stream, format="PNG")
    return stream.getvalue()


def page(rounds: Sequence[tuple[Seconds, Seconds]], settings: Mapping[str, Any], size: str) -> str:
    """The table: medians, and ratios of a round's medians with the least and the largest."""
    lines = [
        f"Made by `python bench/grpo_step.py --rounds {len(rounds)}`: {size}; TRL {version('trl')}, "
        f"transformers {version('transformers')}, torch {version('torch')}, "
        f"Python {platform.python_version()}, one thread.",
        "",
        "| CPU seconds of a step | row by row | shared | ratio (least to largest of rounds) |",
        "|---|---|---|---|",
    ]
    for part in PARTS:
        plain, shared = ([median(own[way][part]) for own in rounds] for way in (0, 1))
        ratios = [one / other for one, other in zip(plain, shared, strict=True)]
        spread = f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        lines.append(f"| {part} | {median(plain):.2f} | {median(shared):.2f} | {spread} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Take turns, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="of both ways")
    parser.add_argument("--steps", type=int, default=3, help="of a round; the first is not counted")
    parser.add_argument("--write", type=Path, help="write the page here, under its head")
    given = parser.parse_args()
    offline.apply()
    pin(1, placing.CPU)
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    settings = params["training"] | {"steps": given.steps, "checkpoint_every": given.steps + 1}
    policy, prompts, texts = make(params, films=4 * settings["prompts_per_step"])
    ways = (RowByRow, ReportGRPOTrainer)
    with tempfile.TemporaryDirectory() as start:
        folder.save(policy, Path(start))
        own = Path(start), prompts, texts, settings
        rounds = [tuple(measure(way, *own) for way in ways) for _ in range(given.rounds)]
    lengths = [len(ids) + 1 for ids in policy.processor.tokenizer(texts)["input_ids"]]
    parts = batches.of_rollouts(settings).number
    size = (
        f"{settings['prompts_per_step']} films x {settings['rollouts']} rollouts in "
        f"{parts} parts, reports of {median(lengths):.0f} tokens in the median, "
        f"generation of {settings['max_new_tokens']}"
    )
    text = page(rounds, settings, size)
    print(text)
    if given.write:
        given.write.write_text("# bench/grpo_step\n\n" + text)


if __name__ == "__main__":
    main()
