"""Run a study's experiments: each in a clone of its own, several seeds at once where asked."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import pandas as pd
import psutil

from kedro_repro.programs import duration, environment, tail, without_git
from radrl.process import importing, run_group
from radrl.storage import table_files

COMPARISON: Final = Path("data/08_reporting/comparison/comparison.csv")
PAIRS: Final = COMPARISON.with_name("pairs.csv")
MASKING: Final = Path("data/08_reporting/analyses/masking.csv")
REWARDS: Final = MASKING.with_name("reward_diversity.csv")

COMPARE: Final = "compare"
ANALYSES: Final = "analyses"
GIVES: Final[Mapping[str, tuple[Path, ...]]] = {COMPARE: (COMPARISON,), ANALYSES: (MASKING, REWARDS)}
"""The stages that an experiment may run up to, and what each must have written."""

AGAIN: Final = "run the study again, which writes it anew"
"""What mends an output of an experiment that cannot be read."""

_STAGE_FAILED: Final = re.compile(r"the stage (\S+) ended with (-?\d+); the end of (.+):$", re.MULTILINE)
"""What `radrl repro` says of a stage that failed (`kedro_repro.stage_runner`)."""


class StudyError(RuntimeError):
    """An experiment failed; the message holds the end of its log and how to go on."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """One run with one seed.

    Args:
        run: the run's name, empty for the one of a study without `runs`.
        seed: its seed.
        params: its whole parameters.
        clone: the folder it runs in.
        stage: it runs up to this one; what lies behind it or aside is no part of the study.
    """

    run: str
    seed: int
    params: dict[str, Any]
    clone: Path
    stage: str = COMPARE

    @property
    def title(self) -> str:
        """What it is called in messages."""
        return f"{self.run}, seed {self.seed}" if self.run else f"seed {self.seed}"

    @property
    def shares_films(self) -> bool:
        """Whether its films are those of the study's other seeds: they have a seed of their own."""
        return self.params.get("ingest", {}).get("seed") is not None

    @property
    def log(self) -> Path:
        """The file that takes its output."""
        return self.clone.with_name(f"{self.clone.name}.log")


def experiments(
    runs: Mapping[str, dict[str, Any]], seeds: Sequence[int], folder: Path, stage: str = COMPARE
) -> list[Experiment]:
    """A study's experiments, seed by seed.

    Args:
        runs: by name, the whole parameters.
        seeds: those to run.
        folder: where the clones lie.
        stage: they run up to this one.

    Returns:
        All runs of the first seed, then those of the next.
    """
    return [
        Experiment(
            run,
            seed,
            params | {"seed": seed},
            folder / (f"{run}-seed-{seed}" if run else f"seed-{seed}"),
            stage,
        )
        for seed in seeds
        for run, params in runs.items()
    ]


class Runner(Protocol):
    """Runs an experiment in its clone."""

    def __call__(self, experiment: Experiment) -> int:
        """Run it, its output into its log, and return an exit status."""
        ...

    def stop(self) -> None:
        """End whatever runs."""
        ...


def run_all(
    given: Sequence[Experiment],
    runner: Runner,
    *,
    prepare: Callable[[Experiment], None],
    say: Callable[[str], None],
    jobs: int = 1,
) -> None:
    """Run all experiments; those of a seed one after another, since they share most stages.

    Args:
        given: the experiments.
        runner: runs one.
        prepare: makes its clone ready.
        say: prints a line.
        jobs: how many seeds at once.

    Raises:
        StudyError: when one fails; the others that have begun are ended.
    """
    by_seed: dict[int, list[Experiment]] = {}
    for experiment in given:
        by_seed.setdefault(experiment.seed, []).append(experiment)
    count, stopped = _Count(len(given)), threading.Event()

    def of_seed(own: Sequence[Experiment]) -> None:
        for experiment in own:
            if stopped.is_set():
                return
            _run_one(experiment, runner, prepare, say, count, stopped)

    futures: list[Future[None]] = []
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        try:
            futures += [pool.submit(of_seed, own) for own in by_seed.values()]
            wait(futures, return_when=FIRST_EXCEPTION)
            for future in futures:
                if future.done():
                    future.result()
        except BaseException:  # also on a signal: nothing is left running behind the terminal's back
            stopped.set()
            runner.stop()
            raise


def _run_one(
    experiment: Experiment,
    runner: Runner,
    prepare: Callable[[Experiment], None],
    say: Callable[[str], None],
    count: _Count,
    stopped: threading.Event,
) -> None:
    began = time.monotonic()
    say(f"{experiment.title}: started, log {experiment.log}")
    prepare(experiment)
    begins = experiment.log.stat().st_size if experiment.log.is_file() else 0
    status = runner(experiment)
    if stopped.is_set():  # it was ended because another failed
        return
    if status or not all((experiment.clone / table).is_file() for table in GIVES[experiment.stage]):
        stopped.set()
        raise StudyError(_failure(experiment, status, begins))
    say(f"[{count.next()}] {experiment.title}: done in {duration(time.monotonic() - began)}")


def _failure(experiment: Experiment, status: int, begins: int) -> str:
    """What failed, with the end of the failed stage's own log, or of the experiment's where no stage did.

    Args:
        experiment: the one that failed.
        status: of its runner.
        begins: the byte of its log at which this start's output begins.
    """
    said = experiment.log.read_bytes()[begins:].decode(errors="replace")
    what, log = f"`radrl repro` in {experiment.clone} ended with {status}", experiment.log
    for stage, own, file in _STAGE_FAILED.findall(said):
        what, log = f"the stage {stage} ended with {own}", Path(file)
    return (
        f"{experiment.title}: {what}; the end of {log}:\n{tail(log)}\n"
        "Mend that and start the study again: finished stages are kept, training goes on from its checkpoint."
    )


def collect(given: Sequence[Experiment], table: Path) -> pd.DataFrame:
    """A table of every experiment, below one another.

    Args:
        given: experiments that have run.
        table: which one, such as `COMPARISON` or `PAIRS`.

    Returns:
        Their lines with `run` and `seed`, and whether the seeds share films (`shared_films`).
    """
    frames = [
        table_files.read_csv(one.clone / table, mend=AGAIN).assign(
            run=one.run, seed=one.seed, shared_films=one.shares_films
        )
        for one in given
    ]
    return pd.concat(frames, ignore_index=True)


class _Count:
    """Counts experiments that are done, from several threads."""

    def __init__(self, total: int) -> None:
        self._done, self._total, self._lock = 0, total, threading.Lock()

    def next(self) -> str:
        with self._lock:
            self._done += 1
            return f"{self._done}/{self._total}"


COMMAND: Final = (sys.executable, "-m", "radrl.commands", "repro", "--jobs", "1", "--verbose")
"""One stage after another, up to the one that follows: what a study runs side by side are seeds."""

_PATIENCE: Final = 90.0
"""Seconds that it has to end by itself before it is killed; after 30 it kills its own stages."""


class Repro:
    """`radrl repro` of the clone's own code up to the study's stage; DVC runs each stage, or restores it.

    Args:
        root: the project's folder; its MLflow record takes the runs of all experiments.
        study: the study's name, which tags them.
    """

    def __init__(self, root: Path, study: str) -> None:
        self._root, self._study = root, study
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False
        self._lock = threading.Lock()

    def __call__(self, experiment: Experiment) -> int:
        """Run the experiment; below 0 is a signal, also where `stop` came before it could start."""
        with experiment.log.open("ab") as log, self._lock:
            if self._stopped:
                return -signal.SIGTERM
            process = subprocess.Popen(
                (*COMMAND, experiment.stage),
                cwd=experiment.clone,
                env=self._environment(experiment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a Ctrl-C reaches it by `stop` alone
            )
            self._running.add(process)
        try:
            return process.wait()
        finally:
            with self._lock:
                self._running.discard(process)

    def stop(self) -> None:
        """End what runs, start nothing more, and wait for the end; trainings leave their checkpoints."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for process in running:
            process.terminate()  # once: a second signal would cut short how it ends its stages
        end = time.monotonic() + _PATIENCE
        for process in running:
            try:
                process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                _kill(process.pid)

    def _environment(self, experiment: Experiment) -> dict[str, str]:
        made = environment(
            PYTHONPATH=importing.first(experiment.clone / "src", os.environ),  # not the installed code
            DVC_ROOT=str(self._root),
            DVC_EXP_NAME=f"{self._study}/{experiment.clone.name}",
            **{run_group.VARIABLE: f"study {self._study}"},
        )
        return without_git(made)


def _kill(pid: int) -> None:
    """End a process by force, and whatever it has started, down to the last child."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        for one in [*process.children(recursive=True), process]:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
