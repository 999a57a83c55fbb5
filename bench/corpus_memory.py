"""What a stage holds of a corpus, as films grow in number, beside a split read into memory as Python's bytes.

    python bench/corpus_memory.py                           # 40,000 films, 5 GB under build/
    python bench/corpus_memory.py --films 10000 40000 150000 270000 --write docs/bench/corpus_memory.md

Films are PNGs of 448 x 448 pixels and about 120 KB, as MIMIC-CXR's fitted ones are; 64 of them stand again
and again, since their bytes and not their pictures count. Each cell is a process of its own. Counted is its
greatest anonymous memory (RssAnon of /proc, 100 times a second): pages of mapped files, which the
system takes back when it wants them and which processes share, stand apart.

    train     what `radrl.training.reinforcement.arm.Arm` does before weights are loaded: texts, digests, the
              trainer's data set; then 500 films drawn at random
    sft       the same for the cold start
    rollouts  every film once, in order
    ceilings  what the stage's network learns from and reads: 8,000 films, its default, and the test films
    compare   the training film nearest to each of the test films
    1,000     what an arm on 1,000 drawn studies holds
    bytes     the peer: pandas with the split's films as Python's bytes, hashed by rows, as radrl did before
"""

from __future__ import annotations

import argparse
import io
import json
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
from PIL import Image

from radrl.data import corpus as corpora
from radrl.data.admission import CORPUS

SIDE: Final = 448
KINDS: Final = 64
SHARD: Final = 1000
TEST: Final = 64
"""One film in as many is a test film: of 270,000 as many as MIMIC-CXR has studies in its own."""
MOST_AS_BYTES: Final = 10_000
"""Films of the peer, which holds several times their bytes."""
WAYS: Final = ("train", "sft", "rollouts", "ceilings", "compare", "1,000", "bytes")


def film(seed: int) -> bytes:
    """A PNG of about 120 KB: a smooth picture with some grain."""
    rng = np.random.default_rng(seed)
    ramp = np.linspace(40, 200, SIDE)[None] + 20 * np.sin(np.linspace(0, 9, SIDE))[:, None]
    pixels = np.clip(ramp + rng.normal(0, 4.5, (SIDE, SIDE)), 0, 255).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, format="PNG")
    return stream.getvalue()


def make(folder: Path, films: int) -> int:
    """Write a corpus of as many films; bytes of all its PNGs."""
    folder.mkdir(parents=True)
    kinds, total = [film(seed) for seed in range(KINDS)], 0
    report = "The cardiomediastinal silhouette is within normal limits. No focal consolidation is seen. " * 4
    for start in range(0, films, SHARD):
        rows = [
            row(number, kinds[number % KINDS], report) for number in range(start, min(films, start + SHARD))
        ]
        total += sum(len(one["images"][0]) for one in rows)
        corpora.write(pa.Table.from_pylist(rows, schema=CORPUS), folder / f"part-{start // SHARD:05d}.arrow")
    return total


def row(number: int, png: bytes, report: str) -> dict[str, Any]:
    """A sample; its digest is its number, which also stands behind the PNG: pandas would keep equals once."""
    texts = {"findings": report, "impression": None, "report": report, "label_text": report, "gold": None}
    names = {"sample_id": f"s{number}_1", "study_id": f"s{number}", "patient_id": f"p{number // 4}"}
    digest = number.to_bytes(32)
    place = {
        "split": "train" if number % TEST else "test",
        "views": ["frontal"],
        "source_keys": [f"row {number}"],
    }
    return {**names, **place, **texts, "images": [png + digest], "digest": digest}


def train(folder: Path, some: int | None = None) -> None:
    from radrl.training.reinforcement.grpo import prompt_dataset

    corpus = corpora.opened(folder)
    known = corpora.read(corpus, split="train", columns=["sample_id", "report", "label_text"])
    asked = known if some is None else known.sample(min(some, len(known)), random_state=0)
    films = corpora.Films(corpus, sample_ids=asked["sample_id"].tolist())
    films.digest()
    columns = (asked[name].tolist() for name in ("report", "sample_id"))
    rows = prompt_dataset(films, *columns, "Write.", label_texts=asked["label_text"].tolist())
    for number in np.random.default_rng(0).permutation(len(films))[:500].tolist():
        rows[number]


def sft(folder: Path) -> None:
    from radrl.policy.encoding import decode_films
    from radrl.training.supervised.fine_tuning import Examples

    corpus = corpora.opened(folder)
    reports = corpora.read(corpus, split="train", columns=["report"])["report"].tolist()
    films = corpora.Films(corpus, "train")
    films.digest()
    examples = Examples.asking("Write.", films, reports)
    for number in np.random.default_rng(0).permutation(len(films))[:500].tolist():
        decode_films(examples[number].films)


def rollouts(folder: Path) -> None:
    films = corpora.Films(corpora.opened(folder), "train")
    films.digest()
    assert sum(len(own[0]) for own in films)


def ceilings(folder: Path) -> None:
    from radrl.readers.network import LabelNetwork

    corpus, reader = corpora.opened(folder), LabelNetwork({"channels": 16}, seed=0)
    known = corpora.read(corpus, columns=["sample_id", "split"]).groupby("split")["sample_id"]
    held = [reader.prepare(corpora.Films(corpus, sample_ids=own.iloc[:8000].tolist())) for _, own in known]
    assert all(len(own.grey) for own in held)


def compare(folder: Path) -> None:
    from radrl.data.thumbnails import nearest_training_films

    corpus = corpora.opened(folder)
    shown = corpora.read(corpus, split="test", columns=["sample_id"])["sample_id"].tolist()
    nearest_training_films(corpus, shown)


def as_bytes(folder: Path) -> None:
    columns = ["sample_id", "images", "report", "label_text"]
    frame = corpora.opened(folder).to_table(columns=columns).to_pandas()
    frame["images"] = list(map(tuple, frame["images"]))
    pd.util.hash_pandas_object(frame, index=False)


DOES: Final[dict[str, Callable[[Path], None]]] = {
    "train": train,
    "sft": sft,
    "rollouts": rollouts,
    "ceilings": ceilings,
    "compare": compare,
    "1,000": lambda folder: train(folder, 1000),
    "bytes": as_bytes,
}


def held(kind: str, process: str = "self") -> float:
    """MB of a process' memory, RssAnon or RssFile; 0 when it has ended."""
    try:
        rows = Path(f"/proc/{process}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return next((int(row.split()[1]) / 1024 for row in rows if row.startswith(kind + ":")), 0.0)


def cell(way: str, folder: Path) -> dict[str, float]:
    """One way in this process: what it held before, and its CPU seconds."""
    for name in ("reinforcement.grpo", "supervised.fine_tuning"):  # what every way has imported
        import_module(f"radrl.training.{name}")
    before, start = held("RssAnon"), time.process_time()
    DOES[way](folder)
    return {"before": before, "seconds": time.process_time() - start}


def watched(way: str, folder: Path) -> dict[str, float]:
    """One way in a process of its own, and the most that it was seen to hold."""
    arguments = [sys.executable, __file__, "--cell", way, str(folder)]
    most = {"RssAnon": 0.0, "RssFile": 0.0}
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            most = {kind: max(value, held(kind, str(process.pid))) for kind, value in most.items()}
            time.sleep(0.01)
        assert process.stdout is not None
        told: dict[str, float] = json.loads(process.stdout.read().decode().splitlines()[-1])
    return {**told, "anonymous": most["RssAnon"], "mapped": most["RssFile"]}


def lines(sizes: Sequence[int], build: Path) -> list[str]:
    """The table, a line a size and a way."""
    table = [
        "| films | PNGs, GB | way | anonymous, MB | of imports | mapped, MB | CPU seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    for films in sizes:
        folder = build / f"corpus-{films}"
        shutil.rmtree(folder, ignore_errors=True)
        total = make(folder, films)
        for way in WAYS:
            if way == "bytes" and films > MOST_AS_BYTES:
                continue
            own = watched(way, folder)
            cells = [
                f"{films:,}",
                f"{total / 1e9:.1f}",
                way,
                f"{own['anonymous']:,.0f}",
                f"{own['before']:,.0f}",
            ]
            table.append("| " + " | ".join([*cells, f"{own['mapped']:,.0f}", f"{own['seconds']:.1f}"]) + " |")
            print(table[-1], flush=True)
        shutil.rmtree(folder)
    return table


def main() -> None:
    """Measure and print, or write a page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--films", type=int, nargs="+", default=[10_000, 40_000])
    parser.add_argument("--build", type=Path, default=Path("build/corpus_memory"))
    parser.add_argument("--write", type=Path, help="the page")
    parser.add_argument("--cell", nargs=2, metavar=("WAY", "FOLDER"), help="measure one way in this process")
    asked = parser.parse_args()
    if asked.cell:
        print(json.dumps(cell(asked.cell[0], Path(asked.cell[1]))))
        return
    table = lines(asked.films, asked.build)
    if asked.write:
        head = ["# What a stage holds of a corpus", "", (__doc__ or "").strip(), ""]
        made = (
            f"Python {platform.python_version()}, pyarrow {version('pyarrow')}, pandas {version('pandas')}."
        )
        asked.write.write_text("\n".join([*head, *table, "", made, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
