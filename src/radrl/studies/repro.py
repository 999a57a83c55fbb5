"""`radrl repro` in an experiment's clone: stages start warm, and what runs can be ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Final

import psutil

from kedro_repro.programs import environment, without_git
from radrl.process import importing, started_for
from radrl.studies.execution import Experiment

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
            **{started_for.VARIABLE: f"study {self._study}"},
        )
        return without_git(made)


def _kill(pid: int) -> None:
    """End a process by force, and whatever it has started, down to the last child."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        for one in [*process.children(recursive=True), process]:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
