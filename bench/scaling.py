"""What a study costs in each stage as the corpus grows: CPU milliseconds and peak memory at 1x, 4x, 16x.

    python bench/scaling.py                               # 250, 1,000 and 4,000 studies
    python bench/scaling.py --stages label selection      # some of the stages
    python bench/scaling.py --factors 1 16 --rounds 1
    python bench/scaling.py --write docs/bench/scaling.md

Films and reports are drawn as params.yaml says, and every stage runs its own nodes with the settings there;
rollouts are cut after 24 tokens, and films are decoded by one process. Each cell is a process of its own. It
first runs the stage over 16 studies, which pays for imports, lexicons, models and Java: that is the start.
What the stage then spends on the asked studies, by the process and its children, is the cost. Factors and
stages take turns in each round; figures are medians. A run that was killed goes on with the cells it lacks.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Final

from scaling_cells import FEW, ROOT, STAGES, make_inputs, run

STUDIES: Final = 250
FEWER: Final[dict[str, float]] = {"ingest-drawn": 0.5, "rollouts": 0.128, "eval": 0.4, "eval-meteor": 0.2}
"""Of the studies at 1x, what the dearer stages get: 32 films are one batch of rollouts."""
CORPUS: Final = 270_790
"""Training films of MIMIC-CXR in DEER."""
FLAT: Final = 1.2
"""The largest cell's cost a study over the smallest's, from which on a ratio is printed bold."""
NOTES: Final = """\
- label, ddsampling and eval get cheaper because the rules remember sentences and drawn reports repeat them;
  real reports repeat fewer.
- selection gets cheaper because the balanced subset's programs have an unknown a label set and not a study.
- eval-meteor: Java starts anew for each cell, and its start is in the cost. Its memory is not in the peak.
- ingest holds the films of one shard, 1,000 as shipped, and a few hundred bytes of every film before it, by
  which duplicates are known. rollouts hold one shard's films too. No shard is full before 1,000 films, so
  the guess of their memory is too high where the cells are smaller. label, selection and eval hold texts.
"""


@dataclass(frozen=True, slots=True)
class Cell:
    """One process: its stage, studies, and number among its like."""

    stage: str
    studies: int
    round: int

    @property
    def name(self) -> str:
        return f"{self.stage}-{self.studies}-{self.round}"


@dataclass(frozen=True, slots=True)
class Found:
    """A stage at one size: medians of start in CPU seconds and of peaks in MB, and what each process cost."""

    studies: int
    start: float
    costs: list[float]
    start_peak: float
    peak: float

    @property
    def each(self) -> float:
        """CPU milliseconds a study."""
        return 1000 * median(self.costs) / self.studies


def size(stage: str, studies: int, factor: int) -> int:
    """Studies of a cell."""
    return factor * max(FEW, round(studies * FEWER.get(stage, 1.0)))


def cells(stages: Sequence[str], studies: int, factors: Sequence[int], rounds: int) -> Iterator[Cell]:
    """Every cell; stages and factors take turns in each round."""
    for number in range(rounds):
        for factor in factors:
            for stage in stages:
                yield Cell(stage, size(stage, studies, factor), number)


def measured(cell: Cell, folder: Path) -> dict[str, float]:
    """What a cell cost; one that was finished before is read."""
    file = folder / "cells" / f"{cell.name}.json"
    if not file.is_file():
        job = [cell.stage, str(folder / "inputs"), str(cell.studies), str(file)]
        started = subprocess.run(
            [sys.executable, __file__, "--cell", *job], stderr=subprocess.PIPE, text=True
        )
        if started.returncode:
            raise SystemExit(f"{cell.name} ended with {started.returncode}:\n{started.stderr[-2000:]}")
    found: dict[str, float] = json.loads(file.read_text())
    return found


def claim(folder: Path, todo: Sequence[Cell]) -> None:
    """Keep the cells of a killed run only where code, parameters and inputs are as they were."""
    sizes = sorted({cell.studies for cell in todo})
    labelers = any(cell.stage.startswith("eval") for cell in todo)
    digest = hashlib.sha256(f"{sizes} {labelers} {os.environ.get('OMP_NUM_THREADS')}".encode())
    for file in [
        ROOT / "params.yaml",
        *sorted((ROOT / "src").rglob("*.py")),
        *sorted(ROOT.glob("bench/scaling*.py")),
    ]:
        digest.update(file.read_bytes())
    stamp = folder / "work"
    if stamp.is_file() and stamp.read_text() == digest.hexdigest():
        return
    for own in ("cells", "inputs"):
        shutil.rmtree(folder / own, ignore_errors=True)
        (folder / own).mkdir(parents=True)
    print(f"drawing {max(sizes)} studies ...", file=sys.stderr, flush=True)
    inputs = folder / "inputs"
    # in a process of its own: a child's peak of memory begins at what its parent holds
    with (folder / "inputs.log").open("w") as log:
        job = [sys.executable, __file__, "--inputs", str(inputs), str(int(labelers)), *map(str, sizes)]
        subprocess.run(job, stdout=log, stderr=log, check=True)
    stamp.write_text(digest.hexdigest())


def gather(todo: Sequence[Cell], folder: Path) -> dict[str, list[Found]]:
    """Run the cells, and put them together by stage and size."""
    rows: dict[tuple[str, int], list[dict[str, float]]] = {}
    for number, cell in enumerate(todo, 1):
        one = measured(cell, folder)
        said = f"start {one['start']:.1f} s, cost {one['cost']:.2f} s, {one['peak']:.0f} MB"
        print(f"{number}/{len(todo)} {cell.name}: {said}", file=sys.stderr, flush=True)
        rows.setdefault((cell.stage, cell.studies), []).append(one)
    found: dict[str, list[Found]] = {}
    for (stage, studies), ones in rows.items():
        start, start_peak, peak = (
            median(one[key] for one in ones) for key in ("start", "start_peak", "peak")
        )
        found.setdefault(stage, []).append(
            Found(studies, start, [one["cost"] for one in ones], start_peak, peak)
        )
    return found


def page(found: dict[str, list[Found]], factors: Sequence[int], command: str) -> str:
    """The table by stage, what grows, and what a corpus of `CORPUS` studies would cost at these rates."""
    heads = [f"{factor}x, ms" for factor in factors]
    lines = [
        f"Made by `{command}`.",
        "",
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        + ", ".join(f"{name} {version(name)}" for name in ("numpy", "pandas", "pyarrow", "scipy", "torch"))
        + ". CPU milliseconds a study, start apart; peak memory of the process in MB, start included.",
        "",
        f"| stage | studies at 1x | start, s | {' | '.join(heads)} | spread at {factors[-1]}x | "
        f"{factors[-1]}x to {factors[0]}x | " + " | ".join(f"{factor}x, MB" for factor in factors) + " |",
        "|" + "---|" * (5 + 2 * len(factors)),
    ]
    lines += [_row(stage, ones) for stage, ones in found.items()]
    return "\n".join([*lines, "", NOTES, *_guess(found)]) + "\n"


def _row(stage: str, ones: Sequence[Found]) -> str:
    first, last = ones[0], ones[-1]
    ratio = last.each / first.each
    spread = " to ".join(f"{1000 * cost / last.studies:.2f}" for cost in (min(last.costs), max(last.costs)))
    start = median(one.start for one in ones)
    return (
        " | ".join(
            [
                f"| {stage} | {first.studies} | {start:.1f}",
                *(f"{one.each:.2f}" for one in ones),
                spread,
                f"{ratio:.2f}" if ratio <= FLAT else f"**{ratio:.2f}**",
                *(f"{one.peak:.0f}" for one in ones),
            ]
        )
        + " |"
    )


def _guess(found: dict[str, list[Found]]) -> Iterator[str]:
    """The largest cell's rates carried on in a straight line."""
    yield f"A guess for {CORPUS:,} studies: the largest cell's rate, and the memory that a study adds from"
    yield "the size before to the largest, carried on in a straight line (rollouts at this bench's tokens)."
    yield ""
    yield "| stage | CPU minutes | memory, MB | kB a study |"
    yield "|---|---|---|---|"
    for stage, ones in found.items():
        first, last = ones[max(0, len(ones) - 2)], ones[-1]
        grown = max(0.0, last.peak - first.peak) / max(1, last.studies - first.studies)
        memory = last.peak + grown * (CORPUS - last.studies)
        minutes = (last.start + CORPUS * last.each / 1000) / 60
        yield f"| {stage} | {minutes:,.1f} | {memory:,.0f} | {1000 * grown:.1f} |"


def main() -> None:
    """Run the cells and print the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=list(STAGES), metavar="STAGE")
    parser.add_argument("--studies", type=int, default=STUDIES, help=f"at 1x (default {STUDIES})")
    parser.add_argument("--factors", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--rounds", type=int, default=3, help="processes a cell (default 3)")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/bench-scaling", help="inputs and cells")
    parser.add_argument("--write", type=Path, help="a Markdown file for the result")
    parser.add_argument("--cell", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--inputs", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inputs:
        folder, labelers, *sizes = given.inputs
        make_inputs(Path(folder), [int(one) for one in sizes], labelers=labelers == "1")
        return
    if given.cell:
        stage, inputs, studies, file = given.cell
        run(stage, Path(inputs), int(studies), Path(file))
        return
    factors = sorted(given.factors)
    todo = list(cells(given.stages, given.studies, factors, given.rounds))
    claim(given.folder, todo)
    found = gather(todo, given.folder)
    text = page(found, factors, " ".join(["python", "bench/scaling.py", *sys.argv[1:]]))
    print(text)
    if given.write:
        given.write.write_text("# bench/scaling\n\n" + text, encoding="utf-8")
    (given.folder / "work").unlink()  # a finished run begins anew


if __name__ == "__main__":
    main()
