"""What DiTPO's credit and OraPO's oracle add to a GRPO step.

    python bench/credits.py                              # about three minutes on one core
    python bench/credits.py --rounds 7 --write docs/bench/credits.md

The shipped policy at the settings of params.yaml, on drawn films; a CheXbert of `labeler.compact`'s shape,
taught for a quarter of a minute, reads every reward. All ways generate, then go on with the same rollouts,
reports of the corpus. The oracle finds a half of each film's rollouts at nothing, about as many as in an arm
from the base policy, so that it acts in every part of every step.
Counted is CPU time, by `time.process_time`, one thread. Ways take turns; a way's steps are held against plain
GRPO's with the same films and rollouts in the same round. What a way adds is said of the whole step and, with
less noise, of all parts of it but generation, as a share of the whole step of plain GRPO.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import os
import platform
import shlex
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any, Final, Literal

import torch
import yaml
from datasets import Dataset
from PIL import Image

from radrl.credit.build import build as build_credit
from radrl.data.sources import phantom
from radrl.labelers.chexbert.labeler import CheXbertLabeler
from radrl.labelers.rules.labeler import RulesLabeler
from radrl.observations import POSITIVE
from radrl.policy import folder
from radrl.process import importing
from radrl.process.devices import pin
from radrl.rewards.base import Part, RewardSum
from radrl.rewards.ce_f1 import ClinicalF1
from radrl.training import batches, device_placement
from radrl.training.compact_labeler import fitting
from radrl.training.reinforcement import grpo
from radrl.training.reinforcement.oracle import Oracle
from radrl.training.reinforcement.trainer import ReportGRPOTrainer

ROOT: Final = Path(__file__).resolve().parents[1]
PASSES: Final = ("frozen start", "forward", "backward", "the rest")
PARTS: Final = ("generation", "credit and reward", *PASSES, "step")
Seconds = dict[str, list[float]]
"""CPU seconds of each step, by part."""


@dataclass(frozen=True, slots=True)
class Way:
    """What a step is made with.

    Args:
        name: in the table.
        credit: a key of `analyses.credit` in params.yaml whose settings it takes; nothing for equal weights.
        touches: the parts of a step that it adds to.
        oracle: whether it has OraPO's.
        bound: what it may add, as a share; nothing where none was set.
    """

    name: str
    credit: str | None = None
    touches: tuple[str, ...] = ("credit and reward",)
    oracle: bool = False
    bound: float | None = None


WAYS: Final = (
    Way("GRPO"),
    Way("DiTPO by gradient", credit="gradient", bound=0.10),
    Way("DiTPO by TF-IDF", credit="tf_idf", bound=0.02),
    Way("the oracle", touches=PASSES, oracle=True, bound=0.15),
    Way("gradient and oracle", credit="gradient", touches=("credit and reward", *PASSES), oracle=True),
)


class HalfEarnsNothing:
    """CheXbert's F1 of all reports, of which every other one is then worth nothing."""

    name, clinical = "ce_f1", True
    reads: Literal["report", "output"] = "report"
    told: Mapping[str, float] = {}

    def __init__(self, labeler: CheXbertLabeler) -> None:
        self.f1 = ClinicalF1(labeler, uncertain_as_positive=False, both_empty=1.0)

    def __call__(self, reports: Sequence[str], *others: Any) -> list[float]:
        scores = self.f1(reports, *others)
        return [0.1 + score if i % 2 else 0.0 for i, score in enumerate(scores)]


class Timing(ReportGRPOTrainer):
    """Counts the parts of its steps; its rollouts are reports of the corpus."""

    reports: Sequence[str]

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.seconds: Seconds = defaultdict(list)
        self.passing: Counter[str] = Counter()
        tokenizer = settings["processing_class"].tokenizer
        longest = self.max_completion_length - 1
        self.scripts = [
            [*tokenizer(text)["input_ids"][:longest], tokenizer.eos_token_id] for text in self.reports
        ]
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
            self.passing["the rest"] = 2 * self.passing["step"] - self.passing.total()
            for name, seconds in self.passing.items():
                self.seconds[name].append(seconds)
            self.passing.clear()
        return loss

    def _generate_single_turn(self, prompt_ids: Any, *args: Any, **kwargs: Any) -> Any:
        with self.part("generation"):
            super()._generate_single_turn(prompt_ids, *args, **kwargs)
        first = self.state.global_step * len(prompt_ids)
        return list(islice(cycle(self.scripts), first, first + len(prompt_ids))), None

    def _calculate_rewards(self, *args: Any, **kwargs: Any) -> Any:
        with self.part("credit and reward"):
            return super()._calculate_rewards(*args, **kwargs)

    def _get_per_token_logps_and_entropies(self, *args: Any, **kwargs: Any) -> Any:
        with self.part("forward" if torch.is_grad_enabled() else "frozen start"):
            return super()._get_per_token_logps_and_entropies(*args, **kwargs)


def measure(
    way: Way, params: Mapping[str, Any], settings: Any, films: Dataset, texts: Sequence[str]
) -> Seconds:
    """CPU seconds of the parts of a round's steps but its first."""
    made: list[Timing] = []

    class Kept(Timing):
        reports = texts

        def __init__(self, **given: Any) -> None:
            super().__init__(**given)
            made.append(self)

    grpo.ReportGRPOTrainer = Kept  # type: ignore[misc]
    policy = folder.load(ROOT / params["policy"]["path"])
    reader = CheXbertLabeler(*taught(params, texts), name="chexbert_compact")
    tokenizer = policy.processor.tokenizer
    with tempfile.TemporaryDirectory() as work, contextlib.redirect_stdout(sys.stderr):
        grpo.optimise(
            policy,
            films,
            reward=RewardSum([Part(HalfEarnsNothing(reader), 1.0)]),
            credit=build_credit(_credit(params, way), tokenizer, lambda _: reader),
            oracle=Oracle(tokenizer, **params["arms"]["orapo"]["oracle"]) if way.oracle else None,
            settings=settings,
            seed=0,
            workspace=Path(work),
        )
    return {name: seconds[1:] for name, seconds in made[0].seconds.items()}


_TAUGHT: list[Any] = []


def _credit(params: Mapping[str, Any], way: Way) -> str | dict[str, Any]:
    """A way's credit, as an arm of params.yaml would have it."""
    return {way.credit: params["analyses"]["credit"][way.credit]} if way.credit else "uniform"


def taught(params: Mapping[str, Any], texts: Sequence[str]) -> Sequence[Any]:
    """A CheXbert of the shipped shape and its tokenizer, taught for a quarter of a minute."""
    if not _TAUGHT:
        _TAUGHT[:] = fitting.train(texts, RulesLabeler(), params["labeler"]["compact"], seed=0)[:2]
        _TAUGHT[0].requires_grad_(False)
    return _TAUGHT


def make(params: Mapping[str, Any], count: int) -> tuple[Dataset, list[str]]:
    """Some films to write on, and the texts that stand for rollouts."""
    size = params["ingest"]["image_size"]
    records = [
        own
        for own in phantom.read(seed=0, studies={"train": 1600}, image_size=size, lateral_share=0)
        if own.findings
    ]
    texts = [own.findings for own in records]
    pictures = [(_png(own.image()),) for own in records[:count]]
    ids = [own.key for own in records[:count]]
    return grpo.prompt_dataset(pictures, texts[:count], ids, params["prompts"]["plain"]), texts


def _png(film: Any) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(film).save(stream, format="PNG")
    return stream.getvalue()


def excess(way: Way, own: Seconds, plain: Seconds) -> tuple[float, float]:
    """What a round's steps add to plain ones of the same rollouts: whole, and the parts touched alone."""
    size = median(plain["step"])
    more = {name: [a - b for a, b in zip(own[name], plain[name], strict=True)] for name in PARTS}
    touched = [sum(added) for added in zip(*(more[name] for name in way.touches), strict=True)]
    return median(more["step"]) / size, median(touched) / size


def page(rounds: Sequence[Sequence[Seconds]], head: str) -> str:
    """Seconds by part, and what each way adds with the least and the largest of rounds."""
    lines = [head, "", "| CPU seconds of a step | " + " | ".join(way.name for way in WAYS) + " |"]
    lines.append("|---|" + "---|" * len(WAYS))
    for part in PARTS:
        found = [median([second for own in rounds for second in own[i][part]]) for i in range(len(WAYS))]
        lines.append(f"| {part} | " + " | ".join(f"{seconds:.3f}" for seconds in found) + " |")
    lines += [
        "",
        "| adds to plain GRPO's step | whole steps | the parts it touches | bound |",
        "|---|---|---|---|",
    ]
    for i, way in enumerate(WAYS[1:], 1):
        pairs = [excess(way, own[i], own[0]) for own in rounds]
        bound = "" if way.bound is None else f"{way.bound:.0%}"
        cells = [_spread([pair[k] for pair in pairs]) for k in (0, 1)]
        lines.append(f"| {way.name} | {cells[0]} | {cells[1]} | {bound} |")
    return "\n".join(lines) + "\n"


def _spread(shares: Sequence[float]) -> str:
    return f"{median(shares):.1%} ({min(shares):.1%} to {max(shares):.1%})"


def describe(settings: Mapping[str, Any], texts: Sequence[str], tokenizer: Any) -> str:
    """Command, size and versions."""
    lengths = [len(ids) + 1 for ids in tokenizer(list(texts))["input_ids"]]
    packages = ", ".join(f"{name} {version(name)}" for name in ("trl", "transformers", "torch"))
    reader = CheXbertLabeler(*_TAUGHT)
    asked = (reader.label(texts[:200]) == POSITIVE).any(axis=1).mean()
    machine = f"Python {platform.python_version()}, one thread of {os.cpu_count()} cores"
    return (
        f"Made by `python {shlex.join(['bench/credits.py', *sys.argv[1:]])}`: "
        f"{settings['prompts_per_step']} films x {settings['rollouts']} rollouts in "
        f"{batches.of_rollouts(settings).number} parts, reports of {median(lengths):.0f} tokens in the "
        f"median, {asked:.0%} of them with a finding to take gradients of; {packages}, {machine}."
    )


def main() -> None:
    """Take turns, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="of all ways")
    parser.add_argument("--steps", type=int, default=4, help="of a round; the first is not counted")
    parser.add_argument(
        "--lessons",
        type=int,
        default=6000,
        help="texts that CheXbert is taught on; of few it learns nothing",
    )
    parser.add_argument("--write", type=Path, help="write the page here, under its head")
    given = parser.parse_args()
    importing.go_offline()
    pin(1, device_placement.CPU)
    logging.disable(logging.WARNING)
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    params["labeler"]["compact"]["recombined"] = given.lessons
    settings = params["training"] | {"steps": given.steps, "checkpoint_every": given.steps + 1}
    films, texts = make(params, count=settings["prompts_per_step"] * given.steps)
    rounds = []
    for number in range(given.rounds):
        print(f"round {number + 1} of {given.rounds}", file=sys.stderr)
        turn = [*WAYS[number % len(WAYS) :], *WAYS[: number % len(WAYS)]]
        found = {way: measure(way, params, settings, films, texts) for way in turn}
        rounds.append([found[way] for way in WAYS])
    tokenizer = folder.load(ROOT / params["policy"]["path"]).processor.tokenizer
    text = page(rounds, describe(settings, texts, tokenizer))
    print(text)
    if given.write:
        given.write.write_text("# bench/credits\n\n" + text)


if __name__ == "__main__":
    main()
