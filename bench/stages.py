"""What running stages side by side saves against `dvc repro`, and that the outcome is the same.

    python bench/stages.py                              # few films and steps, three arms: about ten minutes
    python bench/stages.py --full                       # the study as shipped: about an hour
    python bench/stages.py --write docs/bench/stages.md

Each run is a fresh clone of the last commit with a cache of its own, so nothing is restored. The peer is
DVC itself, which runs one stage after another; both start the same commands. Of a run that asks torch for
all cores the outcome may differ, since sums of floats depend on their order.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import yaml

from radrl.process.programs import DVC, environment

ROOT: Final = Path(__file__).resolve().parents[1]
ARMS: Final = ("base", "sft", "grpo", "deer", "orapo")


@dataclass(frozen=True, slots=True)
class Way:
    """How the stages are run.

    Args:
        name: in the table.
        command: the program and its arguments.
        threads: of each stage; nothing leaves what params.yaml says.
    """

    name: str
    command: tuple[str, ...]
    threads: int | None = None


def ways(cores: int) -> list[Way]:
    """The peer with one thread a stage and with all cores, and stages side by side."""
    dvc = (*DVC, "repro", "compare")
    ours = (sys.executable, "-m", "radrl.commands", "repro", "compare", "--jobs", str(cores))
    return [
        Way("`dvc repro`", dvc),
        Way(f"`dvc repro`, `threads: {cores}`", dvc, threads=cores),
        Way(f"`radrl repro --jobs {cores}`", ours),
    ]


def settings(params: dict[str, Any], *, full: bool, threads: int | None) -> dict[str, Any]:
    """The parameters of a run: as shipped, or of a miniature."""
    params = params | ({"threads": threads} if threads else {})
    if full:
        return params
    params["ingest"]["phantom"]["studies"] = {"pretrain": 300, "train": 120, "val": 40, "test": 80}
    params["labeler"]["compact"]["recombined"] = 2000
    params["policy"]["vision"]["epochs"] = params["policy"]["pretrain"]["epochs"] = 2
    params["sft"]["epochs"] = 2
    params["selection"]["balanced"]["studies"] = 40
    params["training"]["steps"] = 8
    params["arms"] = {name: params["arms"][name] for name in ARMS}
    return params


def run(way: Way, folder: Path, *, full: bool) -> tuple[float, str]:
    """Run all stages in a fresh clone; seconds, and the digest of dvc.lock's outputs."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    params = yaml.safe_load((folder / "params.yaml").read_text())
    changed = settings(params, full=full, threads=way.threads)
    (folder / "params.yaml").write_text(yaml.safe_dump(changed, sort_keys=False))
    variables = environment(PYTHONPATH=str(folder / "src"))
    began = time.monotonic()
    with (folder.parent / f"{folder.name}.log").open("wb") as log:
        subprocess.run(way.command, cwd=folder, env=variables, stdout=log, stderr=log, check=True)
    seconds = time.monotonic() - began
    lock = yaml.safe_load((folder / "dvc.lock").read_text())["stages"]
    outputs = sorted((one["path"], one["md5"]) for stage in lock.values() for one in stage.get("outs", []))
    return seconds, hashlib.sha256(repr(outputs).encode()).hexdigest()[:12]


def page(found: list[tuple[Way, float, str]], *, full: bool) -> str:
    """The table with ratios to the peer."""
    first = found[0][1]
    size = "the study as shipped" if full else f"few films and steps, arms {', '.join(ARMS)}"
    lines = [
        f"Made by `python bench/stages.py{' --full' if full else ''}`: {size}; DVC {version('dvc')}, "
        f"torch {version('torch')}, Python {platform.python_version()}, {os.cpu_count()} cores.",
        "",
        "| | seconds | against `dvc repro` | digest of all outputs |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {way.name} | {seconds:.0f} | {seconds / first:.2f} | `{digest}` |"
        for way, seconds, digest in found
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the ways one after another and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="the study as shipped")
    parser.add_argument(
        "--folder", type=Path, default=ROOT / "build" / "bench-stages", help="where clones go"
    )
    parser.add_argument("--write", type=Path, help="write the page here, under its head")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    found = []
    for number, way in enumerate(ways(os.cpu_count() or 1)):
        print(f"{way.name} ...", file=sys.stderr, flush=True)
        found.append((way, *run(way, given.folder / f"clone-{number}", full=given.full)))
    text = page(found, full=given.full)
    print(text)
    if given.write:
        given.write.write_text("# bench/stages\n\n" + text)


if __name__ == "__main__":
    main()
