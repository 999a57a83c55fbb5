"""What `radrl score` costs as pairs grow in number, beside pycocoevalcap used directly on the same texts.

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
from radrl.data.phantom.report import print_section
from radrl.data.phantom.wording import write_report
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
    with Path(os.devnull).open("w") as nothing:
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


def report(folder: Path, sizes: Sequence[int], speed: int, rounds: int, meteor: int) -> str:
    """Run everything and write it down as Markdown."""
    paths = write_pairs(folder, sorted({*sizes, speed, *([meteor] if meteor else [])}))
    lines = [
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, pycocoevalcap "
        f"{version('pycocoevalcap')}, NumPy {version('numpy')}. MB of peak resident memory, CPU seconds.",
        "",
        "| pairs | nlg, MB | s | all without METEOR, MB | s | all and a table per report, MB | s "
        "| pycocoevalcap directly, MB | s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    runs = {size: _ways(paths[size]) for size in sizes}
    for size, ways in runs.items():
        lines.append(
            f"| {size:,} | " + " | ".join(f"{one.memory:,.0f} | {one.seconds:.0f}" for one in ways) + " |"
        )
        print(lines[-1], flush=True)
    least, most = min(sizes), max(sizes)
    names = ("nlg", "all without METEOR", "all and a table per report", "pycocoevalcap directly")
    lines += ["", f"From {least:,} to {most:,} pairs:", ""]
    for name, one, other in zip(names, runs[least], runs[most], strict=True):
        kb = (other.memory - one.memory) * 1e3 / (most - least)
        lines.append(f"- {name}: {other.memory / one.memory:.2f} times the memory, {kb:.2f} kB a pair more")
    lines += ["", _speed(paths[speed], speed, rounds)]
    if meteor:
        with_it = measure(*SCORE, "--metrics", "nlg", paths[meteor])
        lines += [
            "",
            f"With METEOR, {meteor:,} pairs of nlg: {with_it.seconds:.0f} s, Java's included. Peak of the "
            f"largest process {with_it.memory:,.0f} MB, which is Java's, whatever the number of pairs.",
        ]
    return "\n".join(lines) + "\n"


def _ways(path: Path) -> tuple[Run, Run, Run, Run]:
    table = path.with_suffix(".rows.parquet")
    return (
        measure(*SCORE, *NLG, path),
        measure(*SCORE, "--no-meteor", path),
        measure(*SCORE, "--no-meteor", "--force", "--per-report", table, path),
        measure(__file__, "--direct", prepared(path)),
    )


def _speed(path: Path, size: int, rounds: int) -> str:
    """CPU seconds of NLG against the direct way, by turns."""
    ratios = []
    for _ in range(rounds):
        own, peer = measure(*SCORE, *NLG, path), measure(__file__, "--direct", prepared(path))
        ratios.append(own.seconds / peer.seconds)
        print(f"{own.seconds:.1f} s against {peer.seconds:.1f} s", flush=True)
    return (
        f"BLEU, ROUGE-L and CIDEr of {size:,} pairs take {median(ratios):.2f} ({min(ratios):.2f} to "
        f"{max(ratios):.2f}, {rounds} rounds) of the CPU seconds of pycocoevalcap used directly."
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, default=Path("build/bench-score"), help="where pairs are made")
    parser.add_argument("--pairs", type=int, nargs="+", default=list(PAIRS), help="sizes, two at least")
    parser.add_argument("--speed", type=int, default=SPEED, help=f"pairs of the ratio (default {SPEED:,})")
    parser.add_argument("--rounds", type=int, default=3, help="of the ratio (default 3)")
    parser.add_argument("--meteor", type=int, default=2000, help="pairs with METEOR (default 2000; 0: none)")
    parser.add_argument("--write", type=Path, help="a Markdown file for the result")
    parser.add_argument("--direct", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.direct:
        direct(options.direct)
        return
    text = report(options.folder, options.pairs, options.speed, options.rounds, options.meteor)
    print(text)
    if options.write:
        options.write.parent.mkdir(parents=True, exist_ok=True)
        title = (
            f"# bench/score_memory\n\nMade by `python bench/score_memory.py {' '.join(sys.argv[1:])}`.\n\n"
        )
        options.write.write_text(title + text, encoding="utf-8")


if __name__ == "__main__":
    main()
