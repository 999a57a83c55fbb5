"""What labels of rollouts hold in memory as rollouts grow in number, beside all texts read at once.

    python bench/label_memory.py                                          # up to 400,000 rollouts
    python bench/label_memory.py --rollouts 100000 400000 1600000 2700000 --write docs/bench/label_memory.md

Rollouts are short reports of drawn sentences, ten a film, in files as the stage rollouts leaves them; the
rules read them. Each cell is a process of its own, watched from this one: counted are the greatest
anonymous memory (RssAnon of /proc, 100 times a second) of the stage, and of its largest worker. A stage has
to grow by what it gives: 14 bytes a rollout, and a film's name.

    one       `radrl.pipelines.ddsampling.label_rollouts` in one process
    two       the same with two workers (`compute.workers`)
    at once   the peer: all texts as a list, labelled in one call, as radrl had it for references before
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from corpus_memory import held

from radrl.labelers import build
from radrl.pipelines.ddsampling import label_rollouts

LABELER: Final = {"name": "rules", "rules": {"alternatives": "uncertain", "other_findings": True}}
ROLLOUTS: Final = 10
"""Of a film."""
FILMS: Final = 128
"""Of a file, as params.yaml has it."""
SEED: Final = 0

_PLACES: Final = ("left", "right", "left basilar", "right basilar", "bilateral", "retrocardiac", "apical")
_SIZES: Final = ("small", "moderate", "large", "trace", "stable", "new", "possible")
_FINDINGS: Final = ("pleural effusion", "pneumothorax", "atelectasis", "consolidation", "opacity", "edema")
SENTENCES: Final = (
    *(
        f"There is a {size} {place} {finding}."
        for size in _SIZES
        for place in _PLACES
        for finding in _FINDINGS
    ),
    *(f"No {place} {finding}." for place in _PLACES for finding in _FINDINGS),
    "The heart is enlarged.",
    "The lungs are clear.",
    "A pacemaker is in place.",
)


def make(folder: Path, rollouts: int) -> int:
    """Write as many rollouts; bytes of their texts."""
    folder.mkdir(parents=True)
    rng, total = np.random.default_rng(SEED), 0
    films = rollouts // ROLLOUTS
    for file, start in enumerate(range(0, films, FILMS)):
        names = [f"s{film}_1" for film in range(start, min(start + FILMS, films))]
        chosen = rng.integers(len(SENTENCES), size=(len(names) * ROLLOUTS, 4))
        reports = [" ".join(SENTENCES[i] for i in row) for row in chosen.tolist()]
        total += sum(map(len, reports))
        columns = {"sample_id": np.repeat(names, ROLLOUTS), "rollout": [*range(ROLLOUTS)] * len(names)}
        pq.write_table(pa.table(columns | {"report": reports}), folder / f"part-{file:05d}.parquet")
    return total


def streamed(workers: int) -> Callable[[Path], Any]:
    """The stage, with so many workers."""

    def label(folder: Path) -> Any:
        return label_rollouts(ds.dataset(folder), Path(), LABELER, compute={"workers": workers})[1]

    return label


def at_once(folder: Path) -> Any:
    """The peer."""
    texts = ds.dataset(folder).to_table(columns=["report"]).column("report").to_pylist()
    return build(LABELER).label(texts)


WAYS: Final[dict[str, Callable[[Path], Any]]] = {"one": streamed(1), "two": streamed(2), "at once": at_once}


def cell(way: str, folder: Path) -> dict[str, Any]:
    """One way in this process: what it held before, and a digest of its labels."""
    before = held("RssAnon")
    return {"before": before, "digest": hashlib.sha256(WAYS[way](folder).tobytes()).hexdigest()}


def watched(way: str, folder: Path) -> dict[str, Any]:
    """One way in a process of its own, and the most that it and its largest worker were seen to hold."""
    arguments = [sys.executable, __file__, "--cell", way, str(folder)]
    stage = worker = 0.0
    with psutil.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            stage = max(stage, held("RssAnon", str(process.pid)))
            with suppress(psutil.NoSuchProcess):
                for child in process.children(recursive=True):
                    worker = max(worker, held("RssAnon", str(child.pid)))
            time.sleep(0.01)
        if process.returncode:
            raise RuntimeError(f"{way} of {folder} ended with {process.returncode}")
        told: dict[str, Any] = json.loads(process.stdout.read().decode().splitlines()[-1])
    return {**told, "stage": stage, "worker": worker}


def lines(sizes: Sequence[int], build: Path) -> list[str]:
    """The table, a line a size and a way."""
    table = [
        "| rollouts | texts, MB | way | stage, MB | of imports | largest worker, MB | labels |",
        "|---|---|---|---|---|---|---|",
    ]
    for rollouts in sizes:
        folder = build / f"rollouts-{rollouts}"
        shutil.rmtree(folder, ignore_errors=True)
        total = make(folder, rollouts)
        for way in WAYS:
            own = watched(way, folder)
            sizes_held = [f"{own[name]:,.0f}" if own[name] else "" for name in ("stage", "before", "worker")]
            cells = [f"{rollouts:,}", f"{total / 1e6:,.0f}", way, *sizes_held]
            table.append("| " + " | ".join([*cells, own["digest"][:8]]) + " |")
            print(table[-1], flush=True)
        shutil.rmtree(folder)
    return table


def main() -> None:
    """Measure and print, or write a page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rollouts", type=int, nargs="+", default=[100_000, 400_000])
    parser.add_argument("--build", type=Path, default=Path("build/label_memory"))
    parser.add_argument("--write", type=Path, help="the page")
    parser.add_argument("--cell", nargs=2, metavar=("WAY", "FOLDER"), help="measure one way in this process")
    asked = parser.parse_args()
    if asked.cell:
        print(json.dumps(cell(asked.cell[0], Path(asked.cell[1]))))
        return
    table = lines(asked.rollouts, asked.build)
    if asked.write:
        head = ["# What labels of rollouts hold", "", (__doc__ or "").strip(), ""]
        made = (
            f"Python {platform.python_version()}, pyarrow {version('pyarrow')}. Equal labels have one digest."
        )
        asked.write.write_text("\n".join([*head, *table, "", made, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
