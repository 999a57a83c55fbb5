"""How fast ingest reads a tree in MIMIC-CXR's shape, in how much memory, and whether a kill costs anything.

    python bench/ingest.py                        # 10 % and 100 % of its size, about 3 GB under build/
    python bench/ingest.py --shares 0.01 0.1      # smaller trees
    python bench/ingest.py --write docs/bench/ingest.md

Films are noise of 24 x 20 pixels, each another one, and reports are invented, so the figures are those of
reading, checking, bookkeeping and writing. What decoding costs on top is measured on films of 3056 x 2544
pixels, MIMIC-CXR-JPG's usual size. Memory is the sum of the resident memory of all processes, shared
pages counted once (PSS), looked at twice a second.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

import mimic_tree as mimic
import numpy as np
import psutil
from PIL import Image
from scipy.ndimage import gaussian_filter

from radrl.data import corpus as corpora

FILMS: Final = 377_110
"""Of MIMIC-CXR; its 227,835 studies come out as about 235,700 here, since studies are drawn."""
LARGE: Final = (3056, 2544)
SHARD: Final = 1000


@dataclass(frozen=True, slots=True)
class Run:
    """One ingest: films, seconds, peak memory in MB, the corpus' digest."""

    films: int
    seconds: float
    peak: float
    digest: str

    @property
    def rate(self) -> float:
        return self.films / self.seconds


def make_tree(folder: Path, films: int) -> None:
    """Write tables, report files and films; nothing is done where the tree is whole already."""
    done = folder / "made"
    if done.is_file() and done.read_text() == str(films):
        return
    shutil.rmtree(folder, ignore_errors=True)
    mimic.write_tables(folder, mimic.draw_studies(films))
    with ProcessPoolExecutor() as pool:
        for _ in pool.map(_write_studies, *zip(*_parts(folder, films), strict=True)):
            pass
    done.write_text(str(films))


def _parts(folder: Path, films: int) -> Iterator[tuple[Path, list[mimic.Study]]]:
    studies = mimic.draw_studies(films)
    while part := list(islice(studies, 2000)):
        yield folder, part


def _write_studies(folder: Path, studies: list[mimic.Study]) -> None:
    mimic.write_reports(folder, studies)
    mimic.write_films(folder, studies)


def make_large(folder: Path, films: int) -> None:
    """A tree of films of the usual size: smooth noise, which compresses about as radiographs do."""
    shutil.rmtree(folder, ignore_errors=True)
    studies = list(mimic.draw_studies(films))
    mimic.write_tables(folder, studies)
    mimic.write_reports(folder, studies)
    rng = np.random.default_rng(0)
    noise = gaussian_filter(rng.standard_normal(LARGE), 6)
    film = (np.clip(noise / noise.std() * 40 + 128, 0, 255) + rng.normal(0, 3, LARGE)).clip(0, 255)
    for study in studies:
        (folder / study.folder).mkdir(parents=True, exist_ok=True)
        for name in study.names:
            film[:8, :8] = np.random.default_rng(int(name[:8], 16)).integers(0, 256, (8, 8))
            picture = Image.fromarray(film.astype(np.uint8))
            picture.save(folder / study.folder / f"{name}.jpg", quality=92)


def ingest(tree: Path, out: Path, workers: int, image_size: int) -> None:
    """What the measured process does: the nodes of the stage, without Kedro around them."""
    from radrl.datasets import ArrowShards
    from radrl.pipelines.ingest import read_source, report_quarantine

    settings: dict[str, Any] = {
        "source": "mimic_cxr",
        "mimic_cxr": {
            "root": str(tree),
            **dict.fromkeys(("tables", "reports", "annotation", "view_positions", "gold")),
            "films": "jpg",
            "split": "official",
            "text": "files",
            "unheaded_findings": True,
        },
        "sample": "image",
        "views": ["frontal", "lateral", "unknown"],
        "target": "findings",
        "cleaning": "none",
        "labels_of": "original",
        "min_report_words": 3,
        "max_report_words": None,
        "image_size": image_size,
        "image_fit": "pad",
        "split_shares": {"train": 1.0},
        "patients_in_two_splits": "allow",  # studies are drawn without regard to it
        "max_quarantined_share": 0.01,
        "films_per_shard": SHARD,
        "workers": workers,
    }
    workspace = out / "workspace"
    workspace.mkdir(parents=True, exist_ok=True)
    files, passing = read_source(settings, 0, workspace)
    corpus = ArrowShards(str(out / "corpus"))
    corpus.save(files)
    _, summary = report_quarantine(passing, corpus.load(), settings)
    assert summary["input"] == summary["kept"] + summary["quarantined"], summary


def measure(tree: Path, out: Path, films: int, workers: int, *, image_size: int = 64) -> Run:
    """Ingest in a process of its own and watch its memory."""
    shutil.rmtree(out, ignore_errors=True)
    seconds, peak = _watch(_start(tree, out, workers, image_size))
    return Run(films, seconds, peak, _digest(out / "corpus"))


def measure_killed(tree: Path, out: Path, films: int, workers: int) -> tuple[float, Run]:
    """Kill an ingest at half of its shards, start it again: the share that was done, and the second run."""
    shutil.rmtree(out, ignore_errors=True)
    process = _start(tree, out, workers, 64)
    half = films // SHARD // 2
    while _finished(out) < half and process.poll() is None:
        time.sleep(0.2)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGKILL)
    process.wait()
    _, alive = psutil.wait_procs(children, timeout=30)
    if alive:
        raise RuntimeError(f"{len(alive)} processes outlive their parent")
    done = _finished(out) * SHARD / films
    seconds, peak = _watch(_start(tree, out, workers, 64))
    return done, Run(films, seconds, peak, _digest(out / "corpus"))


def _start(tree: Path, out: Path, workers: int, image_size: int) -> subprocess.Popen[bytes]:
    job = [str(tree), str(out), str(workers), str(image_size)]
    return subprocess.Popen(
        [sys.executable, __file__, "--ingest", *job], env=os.environ | {"TQDM_MININTERVAL": "5"}
    )


def _finished(out: Path) -> int:
    return len(list((out / "workspace").glob("*.notes.parquet")))


def _watch(process: subprocess.Popen[bytes]) -> tuple[float, float]:
    started, peak = time.perf_counter(), 0.0
    while process.poll() is None:
        peak = max(peak, _resident(process.pid))
        time.sleep(0.5)
    if process.returncode:
        raise RuntimeError(f"ingest ended with {process.returncode}")
    return time.perf_counter() - started, peak


def _resident(pid: int) -> float:
    """Proportional resident memory of a process and all below it, in MB."""
    total = 0
    try:
        parent = psutil.Process(pid)
        for process in [parent, *parent.children(recursive=True)]:
            total += _one(process)
    except psutil.NoSuchProcess:
        pass
    return total / 1e6


def _one(process: psutil.Process) -> int:
    try:
        full = process.memory_full_info()
        return int(getattr(full, "pss", full.rss))
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0


def _digest(corpus: Path) -> str:
    digest = hashlib.sha256()
    for shard in sorted(corpus.glob("*.arrow")):
        digest.update(shard.read_bytes())
    rows = corpora.opened(corpus).count_rows()
    return f"{digest.hexdigest()[:16]} ({rows} rows)"


def report(folder: Path, shares: list[float], workers: int, large: int) -> str:
    """Run everything and write it down as Markdown."""
    lines = [
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}; "
        f"{workers} processes decode films unless said otherwise.",
        "",
        "| share of MIMIC-CXR | films | seconds | films a second | peak memory, MB | corpus |",
        "|---|---|---|---|---|---|",
    ]

    def line(name: str, run: Run) -> None:
        figures = f"{run.films:,} | {run.seconds:.0f} | {run.rate:,.0f} | {run.peak:,.0f} | {run.digest}"
        row = f"| {name} | {figures} |"
        print(row, flush=True)
        lines.append(row)

    runs: dict[float, Run] = {}
    for share in shares:
        films = round(share * FILMS)
        make_tree(folder / f"tree-{share:g}", films)
        runs[share] = measure(folder / f"tree-{share:g}", folder / "out", films, workers)
        line(f"{share:.3g}", runs[share])
    small, whole = shares[0], shares[-1]
    done, resumed = measure_killed(folder / f"tree-{small:g}", folder / "out", runs[small].films, workers)
    line(f"{small:.3g}, killed at {done:.0%} and started again", resumed)
    make_large(folder / "large", large)
    large_runs = [measure(folder / "large", folder / "out", large, n, image_size=448) for n in (workers, 1)]
    line(f"films of {LARGE[0]} x {LARGE[1]} to 448", large_runs[0])
    line("the same, one process", large_runs[1])
    same = resumed.digest == runs[small].digest and large_runs[0].digest == large_runs[1].digest
    lines += [
        "",
        f"- {whole:.3g} against {small:.3g}: {runs[whole].rate / runs[small].rate:.2f} times the films a "
        f"second, {runs[whole].peak / runs[small].peak:.2f} times the memory.",
        f"- {workers} processes against one on films of the usual size: "
        f"{large_runs[0].rate / large_runs[1].rate:.2f} times the films a second.",
        f"- After the kill: {resumed.seconds / runs[small].seconds:.2f} of the unbroken time for the "
        f"{1 - done:.0%} that were left, every process gone.",
        f"- Bytes of the corpus: killed and unbroken, one process and {workers} "
        f"{'are the same' if same else 'DIFFER'}.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--folder", type=Path, default=Path("build/bench-ingest"), help="where trees are made"
    )
    parser.add_argument("--shares", type=float, nargs="+", default=[0.1, 1.0], help="of MIMIC-CXR's size")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes (default: one a core)")
    parser.add_argument("--large", type=int, default=200, help="films of the usual size (default 200)")
    parser.add_argument("--write", type=Path, help="a Markdown file for the result")
    parser.add_argument("--ingest", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ingest:
        tree, out, workers, image_size = options.ingest
        ingest(Path(tree), Path(out), int(workers), int(image_size))
        return
    text = report(options.folder, options.shares, options.workers, options.large)
    print(text)
    if options.write:
        options.write.parent.mkdir(parents=True, exist_ok=True)
        title = "# bench/ingest\n\nMade by `python bench/ingest.py --write docs/bench/ingest.md`.\n\n"
        options.write.write_text(title + text, encoding="utf-8")


if __name__ == "__main__":
    main()
