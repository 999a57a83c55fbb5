"""What a study costs by stage in CPU minutes, an older commit against this one; or ways to run it.

    python bench/stages.py --old 7320899                # few films and steps, five arms: about eight minutes
    python bench/stages.py --old 7320899 --full         # the study as shipped: an hour and more
    python bench/stages.py --old 7320899 --write docs/bench/stages.md
    python bench/stages.py --ways                       # `dvc repro` against `radrl repro`: ten minutes

Both commits are cloned, with a cache of their own, so nothing is restored. Their stages run in pairs, each on
a core of its own, and the two change cores from stage to stage, so that whatever else the machine does falls
on both. CPU seconds are the system's count of all processes of a stage, DVC's among them, seen from outside:
the old commit need not count anything itself. A stage is started as
`radrl repro` of its commit starts it: in fresh processes, or by the server that imports the libraries once;
that start is a line of the table.

Kill it when you like: what is measured is kept in --folder, and the next start goes on. The machine's
speed is in every figure but the ratios. `--ways` compares seconds on the clock, one run after another.
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
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from graphlib import TopologicalSorter
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import psutil
import yaml

from kedro_repro.cpu_seconds import minutes
from kedro_repro.fork_server_process import server
from kedro_repro.programs import DVC, environment, tail
from kedro_repro.stage_graph import read_dot
from radrl.process import importing

ROOT: Final = Path(__file__).resolve().parents[1]
ARMS: Final = ("base", "sft", "grpo", "deer", "orapo")
START: Final = "start of the server"


# What is run


def settings(params: dict[str, Any], *, full: bool, threads: int | None = None) -> dict[str, Any]:
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


def clone(commit: str, folder: Path, *, full: bool, threads: int | None = None) -> None:
    """A commit in a folder of its own."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    subprocess.run(["git", "checkout", "--quiet", commit], cwd=folder, check=True)
    params = yaml.safe_load((folder / "params.yaml").read_text())
    changed = settings(params, full=full, threads=threads)
    (folder / "params.yaml").write_text(yaml.safe_dump(changed, sort_keys=False))


def of(commit: str) -> str:
    """A commit's digest in full."""
    return subprocess.run(
        ["git", "rev-parse", f"{commit}^{{commit}}"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


# One commit against another


class Side:
    """A commit's clone, whose stages run one at a time.

    Args:
        name: `old` or `new`.
        folder: of the clone.
        stack: ends the commit's server.
    """

    def __init__(self, name: str, folder: Path, stack: ExitStack) -> None:
        self.name, self._folder = name, folder
        self._variables = environment(PYTHONPATH=importing.first(folder / "src", os.environ))
        self._dvc: tuple[str, ...] = DVC
        self._server: psutil.Process | None = None
        self.start = 0.0
        if (folder / "src/radrl/wiring/warm.py").is_file():
            warm = stack.enter_context(server(folder, PYTHONPATH=importing.first(folder / "src", os.environ)))
            self._dvc, self._variables = (str(warm.commands / "dvc"),), dict(warm.variables)
            self._server = psutil.Process(warm.pid)
            self.start = self._forked()

    def graph(self) -> dict[str, set[str]]:
        """The stages and what they wait for."""
        drawing = subprocess.run(
            [*DVC, "dag", "--dot"],
            cwd=self._folder,
            env=self._variables,
            check=True,
            capture_output=True,
            text=True,
        )
        return read_dot(drawing.stdout)

    def run(self, stage: str, core: int) -> float:
        """Run a stage; CPU seconds of all its processes."""
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {core})  # of this thread, and so of what it starts
            if self._server:
                os.sched_setaffinity(self._server.pid, {core})
        before = self._forked()
        log = self._folder / "build" / f"{stage}.log"
        log.parent.mkdir(exist_ok=True)
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [*self._dvc, "repro", "--single-item", stage],
                cwd=self._folder,
                env=self._variables,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
            )
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{self.name}: the stage {stage} failed\n{tail(log)}")
        return usage.ru_utime + usage.ru_stime + self._forked() - before

    def _forked(self) -> float:
        if not self._server:
            return 0.0
        times = self._server.cpu_times()
        return float(times.user + times.system + times.children_user + times.children_system)


def against(made: Mapping[str, str], folder: Path, *, full: bool) -> dict[str, dict[str, float]]:
    """Run both commits' stages in pairs; by side and stage, CPU seconds."""
    kept = folder / f"{made['old'][:9]}-{made['new'][:9]}{'-full' if full else ''}"
    file = kept / "seconds.json"
    found: dict[str, dict[str, float]] = json.loads(file.read_text()) if file.is_file() else {}
    for name, commit in made.items():
        found.setdefault(name, {})
        if not (kept / name).is_dir():
            shutil.rmtree(kept / "partial", ignore_errors=True)
            clone(commit, kept / "partial", full=full)
            (kept / "partial").rename(kept / name)
    with ExitStack() as stack, ThreadPoolExecutor(max_workers=2) as pool:
        sides = [Side(name, kept / name, stack) for name in made]
        graphs = {side.name: side.graph() for side in sides}
        joined = {
            s: graphs["old"].get(s, set()) | graphs["new"].get(s, set()) for g in graphs.values() for s in g
        }
        for side in sides:
            if side.start:
                found[side.name][START] = side.start
        for number, stage in enumerate(TopologicalSorter(joined).static_order()):
            todo = [side for side in sides if stage in graphs[side.name] and stage not in found[side.name]]
            cores = {side.name: (number + place) % (os.cpu_count() or 1) for place, side in enumerate(sides)}
            runs = {side.name: pool.submit(side.run, stage, cores[side.name]) for side in todo}
            for name, run in runs.items():
                found[name][stage] = run.result()
                file.write_text(json.dumps(found))
            said = ", ".join(
                f"{name} {of_side[stage]:.1f}" for name, of_side in found.items() if stage in of_side
            )
            print(f"{stage:24s} {said} CPU s", file=sys.stderr, flush=True)
    return found


def against_page(
    found: Mapping[str, Mapping[str, float]], made: Mapping[str, str], old: str, *, full: bool
) -> str:
    """The table by group of stages, with totals."""
    unit, per = ("minutes", 1.0) if full else ("seconds", 60.0)
    groups = {name: minutes(seconds) for name, seconds in found.items()}
    counts = {name: len([s for s in {**found["old"], **found["new"]} if s.partition("@")[0] == name])
              for name in {**groups["old"], **groups["new"]}}  # fmt: skip
    lines = [
        f"| stages | how many | old, CPU {unit} | new, CPU {unit} | new / old |",
        "|---|---|---|---|---|",
    ]
    for name, count in counts.items():
        was, now = (groups[side].get(name) for side in ("old", "new"))
        lines.append(f"| {name} | {count} | {_cell(was, per)} | {_cell(now, per)} | {_ratio(now, was)} |")
    was, now = (sum(groups[side].values()) for side in ("old", "new"))
    lines.append(
        f"| **all** | {sum(counts.values())} | {_cell(was, per)} | {_cell(now, per)} | {_ratio(now, was)} |"
    )
    size = "the study as shipped" if full else f"few films and steps, arms {', '.join(ARMS)}"
    return (
        f"{_head([f'--old {old}', *_full(full)])}\n\n"
        f"Commit {made['old'][:9]} against {made['new'][:9]}, stage beside stage: {size}.\n\n"
        + "\n".join(lines)
        + "\n"
    )


def _full(full: bool) -> list[str]:
    return ["--full"] if full else []


def _cell(value: float | None, per: float) -> str:
    return "" if value is None else f"{value * per:.1f}"


def _ratio(now: float | None, was: float | None) -> str:
    return f"{now / was:.2f}" if now and was else ""


def _head(options: Sequence[str]) -> str:
    return (
        f"Made by `python bench/stages.py {' '.join(options)}`; DVC {version('dvc')}, "
        f"Kedro {version('kedro')}, "
        f"MLflow {version('mlflow')}, torch {version('torch')}, Python {platform.python_version()}, "
        f"{os.cpu_count()} cores."
    )


# One way against others


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


def run_way(way: Way, folder: Path, *, full: bool) -> tuple[float, float, str]:
    """Run all stages in a fresh clone; seconds, CPU seconds, and the digest of dvc.lock's outputs."""
    shutil.rmtree(folder, ignore_errors=True)
    clone("HEAD", folder, full=full, threads=way.threads)
    variables = environment(PYTHONPATH=importing.first(folder / "src", os.environ))
    began = time.monotonic()
    with (folder.parent / f"{folder.name}.log").open("wb") as log:
        process = subprocess.Popen(way.command, cwd=folder, env=variables, stdout=log, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{way.name} failed\n{tail(Path(log.name))}")
    lock = yaml.safe_load((folder / "dvc.lock").read_text())["stages"]
    outputs = sorted((one["path"], one["md5"]) for stage in lock.values() for one in stage.get("outs", []))
    return seconds, usage.ru_utime + usage.ru_stime, hashlib.sha256(repr(outputs).encode()).hexdigest()[:12]


def ways_page(found: Sequence[tuple[Way, float, float, str]], *, full: bool) -> str:
    """The table with ratios to the peer."""
    first = found[0][1]
    size = "the study as shipped" if full else f"few films and steps, arms {', '.join(ARMS)}"
    lines = [
        f"{_head(['--ways', *_full(full)])}",
        "",
        f"Each way in a fresh clone: {size}.",
        "",
        "| | seconds | against `dvc repro` | CPU seconds | digest of all outputs |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {way.name} | {seconds:.0f} | {seconds / first:.2f} | {cpu:.0f} | `{digest}` |"
        for way, seconds, cpu, digest in found
    ]
    return "\n".join(lines) + "\n"


def compare_ways(folder: Path, *, full: bool) -> str:
    """Run the ways one after another."""
    found = []
    for number, way in enumerate(ways(os.cpu_count() or 1)):
        print(f"{way.name} ...", file=sys.stderr, flush=True)
        found.append((way, *run_way(way, folder / f"clone-{number}", full=full)))
    return ways_page(found, full=full)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--old", metavar="COMMIT", help="the commit that HEAD is measured against")
    what.add_argument("--ways", action="store_true", help="ways to run HEAD's stages instead")
    parser.add_argument("--full", action="store_true", help="the study as shipped")
    parser.add_argument(
        "--folder", type=Path, default=ROOT / "build" / "bench-stages", help="where clones go"
    )
    parser.add_argument("--write", type=Path, help="write the page here, under its head")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.ways:
        text = compare_ways(given.folder, full=given.full)
    else:
        made = {"old": of(given.old), "new": of("HEAD")}
        found = against(made, given.folder, full=given.full)
        text = against_page(found, made, given.old, full=given.full)
    print(text)
    if given.write:
        given.write.write_text("# bench/stages\n\n" + text)


if __name__ == "__main__":
    main()
