"""What `radrl score` costs as the number of pairs grows, beside pycocoevalcap used directly on the same texts.

    python bench/score_memory.py                          # up to 200,000 pairs, about 100 MB under build/
    python bench/score_memory.py --pairs 2000 4000 --rounds 1
    python bench/score_memory.py --write docs/bench/score_memory.md

Pairs are phantom reports: of a patient's study the true one, and one of the same findings or of others. Each
run is a process of its own; counted are its peak resident memory and its CPU seconds, start and reading of
the file included, of which Java's for METEOR stand apart. "Direct" is what everybody does with pycocoevalcap:
all texts in two dictionaries, then its Bleu, Rouge and Cider one after the other. Its texts are prepared
beforehand, which `radrl score` does itself.
"""

from __future__ import annotations

import argparse
import csv
import os
import platform
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from radrl.data.phantom.findings import draw_case, draw_patient, shares_of
from radrl.data.phantom.wording import print_section, write_report
from radrl.scoring.nlg import basic

PAIRS: Final = (25_000, 50_000, 100_000, 200_000)
SPEED: Final = 20_000
"""Pairs of the comparison of CPU time."""
SAME: Final = 0.5
"""Share of generated reports that tell the findings of their reference."""
SCORE: Final = ["-m", "radrl.commands", "score", "-q"]
NLG: Final = ["--metrics", "nlg", "--no-meteor"]


@dataclass(frozen=True, slots=True)
class Run:
    """One process: its peak resident memory in MB and its CPU seconds, those it started included."""

    memory: float
    seconds: float


def pairs(seed: int) -> Iterator[tuple[str, str, str]]:
    """Patient, reference and hypothesis, without end."""
    rng, shares = np.random.default_rng(seed), shares_of(1.0)
    number = 0
    while True:
        patient = draw_patient(rng)
        for _ in range(int(rng.integers(1, 4))):
            true, other = (draw_case(patient, rng, prevalence=shares, hedge_share=0.04) for _ in range(2))
            told = true if rng.random() < SAME else other
            reports = (write_report(case, rng, lateral=False, prior=False) for case in (true, told))
            reference, hypothesis = (print_section(one.findings, rng) for one in reports)
            yield f"p{number}", reference, hypothesis
        number += 1


def write_pairs(folder: Path, sizes: Sequence[int]) -> dict[int, Path]:
    """A CSV file for each size, the first rows of the same pairs; nothing is done where it is there."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {size: folder / f"pairs-{size}.csv" for size in sizes}
    missing = [size for size, path in paths.items() if not path.is_file()]
    rows = list(islice(pairs(0), max(missing, default=0)))
    for size in missing:
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["patient", "reference", "hypothesis"])
            writer.writerows(rows[:size])
        Path(stream.name).replace(paths[size])
    return paths


def direct(path: Path) -> None:
    """What the peer does: pycocoevalcap's own classes over all texts."""
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge

    with path.open(newline="") as stream:
        rows = [(row["reference"], row["hypothesis"]) for row in csv.DictReader(stream)]
    truth = {number: [reference] for number, (reference, _) in enumerate(rows)}
    found = {number: [hypothesis] for number, (_, hypothesis) in enumerate(rows)}
    bleu, _ = Bleu(4).compute_score(truth, found, verbose=0)
    print(*(repr(float(one)) for one in bleu), end=" ")
    print(*(repr(float(one.compute_score(truth, found)[0])) for one in (Rouge(), Cider())))


def prepared(path: Path) -> Path:
    """The same pairs, their texts as `--preparation basic` has them."""
    out = path.with_name(f"{path.stem}-basic.csv")
    if not out.is_file():
        with path.open(newline="") as given, out.open("w", newline="") as stream:
            writer = csv.writer(stream)
            rows = csv.reader(given)
            writer.writerow(next(rows))
            writer.writerows((who, basic(truth), basic(found)) for who, truth, found in rows)
    return out


def measure(*arguments: str | Path) -> Run:
    """Run Python in a process of its own."""
    with open(os.devnull, "w") as nothing:
        process = os.posix_spawn(
            sys.executable,
            [sys.executable, *map(str, arguments)],
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, nothing.fileno(), 1)],
        )
        _, status, used = os.wait4(process, 0)
    if status:
        raise RuntimeError(f"{' '.join(map(str, arguments))} ended with {os.waitstatus_to_exitcode(status)}")
    kilobyte = 1 if platform.system() == "Darwin" else 1024
    return Run(used.ru_maxrss * kilobyte / 1e6, used.ru_utime + used.ru_stime)
