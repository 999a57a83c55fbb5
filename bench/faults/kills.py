"""What is left when `radrl repro` is killed at points drawn from a seed, and whether it then ends the same.

    python bench/faults kills --kills 20 --folder build/bench-faults --write docs/bench/faults.md    # an hour
    python bench/faults kills --kills 1 --seed 7 --window 1            # the smallest: one trial of one stage

A clone with few films, one arm and small networks runs once unbroken: its dvc.lock has the bytes of every
stage. Each trial starts from a copy of it, in which a drawn number of stages stands as finished and the next
ones (`--window`) are as if they had never run: outputs, objects and records of the cache are removed. Stages
behind these are restored where what they read has the very bytes of the unbroken run. `radrl repro` is
started and killed by SIGKILL, in turn

    alone    the process itself
    group    its process group, as a terminal's `kill -9 %1`
    all      it and every process below it at one moment, as when a machine goes down
    lock     the same, at the first moment after the drawn one in which DVC has dvc.lock open

at a moment drawn between shortly before its first stage and about the end of the window, and looked at ten
seconds later: which processes still run, what lies about half written. Then it is started again, to its end.
The outcome is `same` when dvc.lock is the unbroken run's in every digest and parameter and the files below
data/ have these digests, else what the second start said. Kill it when you like: trials are kept in --folder,
and the next start goes on.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
import psutil
import yaml

from faults.project import clone, digests, records, stored, variables
from kedro_repro.dvc_repair import LOCK, RWLOCK, whole
from kedro_repro.programs import tail

KINDS: Final = ("alone", "group", "all", "lock")
FIRST: Final = Path("build/repro/code.log")
"""Is there when the first stage begins."""
MARK: Final = "RADRL_FAULTS"
"""The variable by which a trial's processes are known, whoever their parents are by then."""
AFTER: Final = 10.0
"""Seconds from a kill to the look at what is left."""
ENDING: Final = 60.0
"""Seconds more that what is left has before it is counted as running on."""
HEADS: Final = (
    "",
    "kill",
    "finished before",
    "killed after, s",
    "under way",
    "running 10 s later",
    "half written",
    "the next start",
    "left then",
)
REPRO: Final = (sys.executable, "-m", "radrl.commands", "repro")

_DONE: Final = re.compile(r"^(\S+) +((?:\d+ h )?(?:\d+ min )?\d* ?s?)$", re.MULTILINE)
"""What `radrl repro` says of a stage that ended."""


# The start that is killed


def start(folder: Path, mark: str, log: Path) -> subprocess.Popen[bytes]:
    """Start `radrl repro` in a process group of its own."""
    with log.open("wb") as stream:
        return subprocess.Popen(
            REPRO,
            cwd=folder,
            env=variables(folder, **{MARK: mark}),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
        )


def durations(said: str) -> dict[str, float]:
    """Seconds of each stage, in the order of their ends.

    Example:
        >>> durations("code        8 s\\ningest                   1 min 3 s\\n")
        {'code': 8.0, 'ingest': 63.0}
    """
    units = {"h": 3600.0, "min": 60.0, "s": 1.0}
    return {
        stage: sum(int(count) * units[unit] for count, unit in re.findall(r"(\d+) (h|min|s)", text))
        for stage, text in _DONE.findall(said)
    }


# A copy with some stages as if they had never run


def forget(folder: Path, window: Sequence[str], later: Sequence[str]) -> None:
    """Take stages out of dvc.lock and data; of those in the window also what DVC's cache knows of them."""
    lock = yaml.safe_load((folder / LOCK).read_text())
    cache = folder / ".dvc" / "cache"
    gone = {stage: lock["stages"].pop(stage) for stage in (*window, *later)}
    for entry in gone.values():
        for out in entry.get("outs", []):
            path = folder / out["path"]
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    commands = {gone[stage]["cmd"] for stage in window}
    for run in (cache / "runs").glob("*/*"):
        if any(yaml.safe_load(note.read_text())["cmd"] in commands for note in run.iterdir()):
            shutil.rmtree(run)
    made, kept = (
        {md5 for entry in entries for out in entry.get("outs", []) for md5 in objects(cache, out["md5"])}
        for entries in (
            [gone[stage] for stage in window],
            [*lock["stages"].values(), *(gone[stage] for stage in later)],
        )
    )
    for md5 in made - kept:
        stored(cache, md5).unlink()
    (folder / LOCK).write_text(yaml.safe_dump(lock, sort_keys=False))


def objects(cache: Path, md5: str) -> list[str]:
    """An output's object, and those of its files where it is a folder."""
    if not md5.endswith(".dir"):
        return [md5]
    return [md5, *(entry["md5"] for entry in json.loads(stored(cache, md5).read_text()))]


# The kill, and what it leaves


def running(mark: str) -> list[psutil.Process]:
    """The processes of a trial that are alive."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def kill(started: subprocess.Popen[bytes], kind: str) -> None:
    """End `radrl repro` by force, and with it what the kind says; it may have ended by itself."""
    with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess):
        if kind == "alone":
            started.kill()
        elif kind == "group":
            os.killpg(started.pid, signal.SIGKILL)
        else:
            kill_all(psutil.Process(started.pid))
    started.wait()


def kill_all(process: psutil.Process) -> None:
    """End a process and all below it by force; halted first, so that none sees another one's end."""
    together = [process, *process.children(recursive=True)]
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for one in together:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.send_signal(number)


def wait_to(drawn: float, folder: Path, started: subprocess.Popen[bytes], before: float) -> None:
    """Wait until so many seconds after the first stage began, below 0 before it, or `radrl repro` ends."""
    if drawn < 0:
        end = time.monotonic() + before + drawn
    else:
        while started.poll() is None and not (folder / FIRST).is_file():
            time.sleep(0.01)
        end = time.monotonic() + drawn
    with contextlib.suppress(subprocess.TimeoutExpired):
        started.wait(max(0.0, end - time.monotonic()))


def wait_for_write(folder: Path, started: subprocess.Popen[bytes], patience: float) -> None:
    """Wait until DVC empties dvc.lock to write it anew, or `radrl repro` ends."""
    end = time.monotonic() + patience
    before = stamp(folder / LOCK)
    while started.poll() is None and time.monotonic() < end and stamp(folder / LOCK) == before:
        time.sleep(0.0005)


def stamp(path: Path) -> tuple[int, int] | None:
    """Time and size of a file."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size


def half_written(folder: Path, base: Path) -> list[str]:
    """What lies about in the project and in the temporary folder that the unbroken run did not leave."""
    found = [f"{path.relative_to(folder)}" for path in folder.glob("data/**/.*.partial")]
    found += [f"TMPDIR/{name}" for name in temporary(folder) - temporary(base)]
    cache = folder / ".dvc" / "cache"
    found += [f"a {path.suffix} in DVC's cache" for path in cache.rglob("*.tmp")]
    if (folder / LOCK).is_file() and not whole((folder / LOCK).read_text()):
        found.append(f"dvc.lock, {(folder / LOCK).stat().st_size} bytes of it")
    try:
        json.loads((folder / RWLOCK).read_text())
    except FileNotFoundError:
        pass
    except ValueError:
        found.append("DVC's rwlock")
    return sorted(set(found))


def temporary(folder: Path) -> set[str]:
    """What lies in the temporary folder of a clone, without the random part of names."""
    return {re.sub(r"[^.-]{8}$", "*", path.name) for path in folder.with_name("tmp").iterdir()}


# A trial


@dataclass(frozen=True, slots=True)
class Trial:
    """A kill and what came of it.

    Args:
        number: from 1.
        kind: of `KINDS`.
        finished: stages that stood as finished.
        seconds: from the start to the kill.
        under_way: stages that ran when it was killed.
        left: processes that ran ten seconds later.
        ran_on: of them, those that ran a minute later.
        half: what lay half written.
        outcome: `same`, or what the second start said.
        after: what lay half written after it.
    """

    number: int
    kind: str
    finished: int
    seconds: float
    under_way: list[str]
    left: list[str]
    ran_on: list[str]
    half: list[str]
    outcome: str
    after: list[str]


def names(processes: Sequence[psutil.Process]) -> list[str]:
    """What processes are, for a person."""
    found = []
    for process in processes:
        try:
            found.append(" ".join(process.cmdline()[1:4])[:60] or process.name())
        except psutil.NoSuchProcess:
            continue
    return found


def under_way(folder: Path, window: Sequence[str], said: str) -> list[str]:
    """Stages whose log has begun and of which `radrl repro` has not said that they ended."""
    logs = [stage for stage in window if (folder / f"build/repro/{stage}.log").is_file()]
    return [stage for stage in logs if stage not in durations(said)]


def trial(
    number: int, rng: np.random.Generator, base: Path, told: Mapping[str, Any], work: Path, window: int
) -> Trial:
    """Kill a copy of the unbroken run and start it again."""
    seconds: dict[str, float] = told["stages"]
    kind, order = KINDS[(number - 1) % len(KINDS)], list(seconds)
    finished = int(rng.integers(1, len(order) - window + 1))  # the stage `code` always runs
    chosen, later = order[finished : finished + window], order[finished + window :]
    until = seconds["code"] + sum(seconds[stage] for stage in chosen) / 2
    drawn = float(rng.uniform(-0.2 * told["before"], until))
    shutil.rmtree(work, ignore_errors=True)
    left_out = shutil.ignore_patterns("mlflow.db*", "mlartifacts", "build")
    shutil.copytree(base, work / "radrl", symlinks=True, ignore=left_out)
    forget(work / "radrl", chosen, later)
    mark, folder, log = f"{os.getpid()}-{number}", work / "radrl", work / "log"
    began = time.monotonic()
    started = start(folder, mark, log)
    wait_to(drawn, folder, started, told["before"])
    if kind == "lock":
        wait_for_write(folder, started, 300)
    kill(started, kind)
    took = time.monotonic() - began
    doing = under_way(folder, order, log.read_text(errors="replace"))
    time.sleep(AFTER)
    left, half = running(mark), half_written(folder, base)
    seen = names(left)
    _, alive = psutil.wait_procs(left, timeout=ENDING)
    ran_on = names(alive)
    again = start(folder, f"{mark}-again", work / "again").wait()
    for process in alive:
        process.kill()
    outcome = compared(base, folder, again, work / "again")
    return Trial(number, kind, finished, took, doing, seen, ran_on, half, outcome, half_written(folder, base))


def compared(base: Path, folder: Path, status: int, log: Path) -> str:
    """`same`, or how the second start's outcome differs from the unbroken run's."""
    if status:
        return f"ended with {status}: {tail(log)}"
    one, other = (records(path / LOCK) for path in (base, folder))
    if one != other:
        unlike = [key for key in one.keys() | other.keys() if one.get(key) != other.get(key)]
        return f"other: {', '.join(sorted(unlike))}"
    broken = [path for path, md5 in digests(folder, one) if md5 != hashlib.md5(path.read_bytes()).hexdigest()]
    return f"other bytes: {', '.join(map(str, broken))}" if broken else "same"


# The page


def page(found: Sequence[Trial], told: Mapping[str, Any], seed: int, window: int) -> str:
    """What was seen, as a page of the docs."""
    same = sum(one.outcome == "same" for one in found)
    ran_on = sum(bool(one.ran_on) for one in found)
    options = f"--kills {len(found)} --seed {seed} --window {window}"
    head = (
        f"Made by `python bench/faults kills {options}`; DVC {version('dvc')}, Python "
        f"{platform.python_version()}, {os.cpu_count()} cores, which other programs used too. One unbroken "
        f"run of {len(told['stages'])} stages: {told['seconds']:.0f} s."
    )
    said = (
        f"{len(found)} kills with seed {seed}: {same} ended with the bytes of the unbroken run after the "
        f"next start, {len(found) - same} did not. In {ran_on} something ran on for {AFTER + ENDING:.0f} s "
        "or longer."
    )
    lines = [f"| {' | '.join(HEADS)} |", f"|{'---|' * len(HEADS)}"]
    for one in found:
        cells = [str(one.number), one.kind, str(one.finished), f"{one.seconds:.1f}"]
        cells += map(joined, (one.under_way, one.left, one.half, [" ".join(one.outcome.split())], one.after))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([head, "", said, "", *lines, ""])


def joined(values: Sequence[str]) -> str:
    """Values in a cell, each once, with how often it stood there."""
    counts = {value: values.count(value) for value in values}
    return ", ".join(
        f"{value.replace('|', ' ')}{f' ({count})' if count > 1 else ''}" for value, count in counts.items()
    )


def unbroken(base: Path, log: Path) -> dict[str, Any]:
    """Run all stages once; seconds of the whole, of each stage, and before the first of them."""
    began = time.monotonic()
    started, before = start(base, f"{os.getpid()}-unbroken", log), 0.0
    while started.poll() is None:
        if not before and (base / FIRST).is_file():
            before = time.monotonic() - began
        time.sleep(0.1)
    if started.returncode:
        raise SystemExit(f"the unbroken run failed\n{tail(log)}")
    stages = durations(log.read_text(errors="replace"))
    return {"seconds": time.monotonic() - began, "before": before, "stages": stages}


def run(folder: Path, kills: int, seed: int, window: int) -> Iterator[str]:
    """The unbroken run, or the one that an earlier start has left in the folder, then the trials.

    Yields:
        The page after each of them.
    """
    base, log = folder / "unbroken" / "radrl", folder / "unbroken" / "log"
    if not (folder / "seconds.json").is_file():
        shutil.rmtree(folder / "unbroken", ignore_errors=True)
        base.parent.mkdir(parents=True)
        clone(base)
        (folder / "seconds.json").write_text(json.dumps(unbroken(base, log)))
    told = json.loads((folder / "seconds.json").read_text())
    say(f"unbroken: {len(told['stages'])} stages in {told['seconds']:.0f} s; seed {seed}")
    kept = folder / f"trials-{seed}-{window}.jsonl"
    lines = kept.read_text().splitlines() if kept.is_file() else []
    found = [Trial(**json.loads(line)) for line in lines][:kills]
    for number in range(len(found) + 1, kills + 1):
        rng = np.random.default_rng([seed, number])
        found.append(trial(number, rng, base, told, folder / "trial", window))
        line = json.dumps(asdict(found[-1]))
        say(line)
        with kept.open("a") as stream:
            stream.write(line + "\n")
        yield page(found, told, seed, window)


def say(line: str) -> None:
    """Print how it goes."""
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    """Kill, look, start again, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="of the points")
    parser.add_argument("--window", type=int, default=3, help="stages that really run again in a trial")
    parser.add_argument("--folder", type=Path, help="keeps what has run; default: a temporary folder")
    parser.add_argument("--write", type=Path, help="write the page here, under its head")
    given = parser.parse_args()

    text = ""
    with tempfile.TemporaryDirectory(prefix="faults-") as temporary:
        for text in run(given.folder or Path(temporary), given.kills, given.seed, given.window):
            if given.write:
                given.write.write_text("# bench/faults\n\n" + text)
    print(text)


if __name__ == "__main__":
    main()
