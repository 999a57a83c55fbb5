"""One stage, run by DVC in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path
from typing import Final

from kedro_repro import cpu_seconds
from kedro_repro.false_records import take_out
from kedro_repro.fork_server_process import Server
from kedro_repro.programs import Programs, environment, tail
from kedro_repro.project import load
from kedro_repro.restored_outputs import take_away_broken, was_restored
from kedro_repro.schedule import StageFailed
from kedro_repro.stage_graph import CODE

TRIES: Final = 5
"""Times that a stage runs until its record is true."""


class DvcStages:
    """Runs stages with `dvc repro --single-item`; what ran before, wherever, is restored from DVC's cache.

    Args:
        root: the project's folder.
        logs: the folder that takes each stage's output.
        server: forks DVC and the stages; without one they are fresh processes.
        held: descriptors of locks that these fresh processes hold until they end.
    """

    def __init__(
        self, root: Path, logs: Path, server: Server | None = None, held: Collection[int] = ()
    ) -> None:
        self._root, self._logs, self._server = root, logs, server
        self._programs = Programs(server.address if server else None, held)
        self._costs = root / "data" / cpu_seconds.FOLDER
        logs.mkdir(parents=True, exist_ok=True)

    def __call__(self, stage: str) -> None:
        """Run a stage.

        Raises:
            StageFailed: when it does not end well.
        """
        began = time.time_ns()
        cpu = self._run(stage)
        if was_restored(self.log(stage)) and (broken := take_away_broken(self._root, stage)):
            cpu += self._run(stage, append=True)
            self._warn(stage, broken)
        tries = 1
        while untrue := take_out(self._root, stage).get(stage):
            self._warn(stage, untrue)
            if tries == TRIES:
                raise StageFailed(
                    f"{TRIES} times params.yaml or the code changed just before DVC wrote down {stage}, as "
                    f"{self.log(stage)} says; dvc.lock has no entry of it. Leave them alone and start again"
                )
            cpu, tries = cpu + self._run(stage, append=True), tries + 1
        self._note_cost(stage, cpu, began)

    def _warn(self, stage: str, said: str) -> None:
        """Add a line to a stage's log that is shown to people."""
        with self.log(stage).open("a", encoding="utf-8") as log:
            log.write(f"{time.strftime('%H:%M:%S')} WARNING {said}\n")

    def _run(self, stage: str, *, append: bool = False) -> float:
        """Let DVC run or restore a stage, its output in the stage's log; CPU seconds."""
        # stages that run at once take turns at DVC's own lock
        arguments = ["--wait-for-lock", "repro", "--single-item", stage]
        log = self.log(stage)
        variables = self._server.variables if self._server else environment()
        status, cpu = self._programs.run(
            arguments, folder=self._root, log=log, environment=variables, append=append
        )
        if status:
            raise StageFailed(
                f"the stage {stage} ended with {status}; the end of {log}:\n{tail(log)}\n"
                f"Mend that and start again: {load(self._root, with_class=False).kept}."
            )
        return cpu

    def _note_cost(self, stage: str, cpu: float, began: int) -> None:
        """Add DVC's share to what the stage noted of itself; one restored from the cache noted nothing."""
        if stage == CODE:
            cpu_seconds.note(self._costs, stage, {cpu_seconds.DVC: cpu})
        elif own := cpu_seconds.cost_of_stage(self._costs, stage, since=began):
            waited_for = 0.0 if self._server else own[cpu_seconds.OWN]
            cpu_seconds.note(self._costs, stage, own | {cpu_seconds.DVC: max(0.0, cpu - waited_for)})

    def log(self, stage: str) -> Path:
        """The file that takes a stage's output, its last run's alone."""
        return self._logs / f"{stage}.log"

    def stop(self) -> None:
        """End the stages that run, and start nothing more; training leaves its checkpoints."""
        self._programs.stop()
