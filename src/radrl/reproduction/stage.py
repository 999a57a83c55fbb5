"""One stage, run by DVC in a process of its own."""

from __future__ import annotations

from pathlib import Path

from radrl.process.programs import Programs, environment, tail
from radrl.reproduction.schedule import StageFailed


class DvcStages:
    """Runs stages with `dvc repro --single-item`; what ran before, wherever, is restored from DVC's cache.

    Args:
        root: the project's folder.
        logs: the folder that takes each stage's output.
    """

    def __init__(self, root: Path, logs: Path) -> None:
        self._root, self._logs, self._programs = root, logs, Programs()
        logs.mkdir(parents=True, exist_ok=True)

    def __call__(self, stage: str) -> None:
        """Run a stage.

        Raises:
            StageFailed: when it does not end well.
        """
        # stages that run at once take turns at DVC's own lock
        arguments = ["--wait-for-lock", "repro", "--single-item", stage]
        log = self.log(stage)
        status = self._programs.run(arguments, folder=self._root, log=log, environment=environment())
        if status:
            raise StageFailed(
                f"the stage {stage} ended with {status}; the end of {log}:\n{tail(log)}\n"
                "Mend that and start again: finished stages are kept, training goes on from its checkpoint."
            )

    def log(self, stage: str) -> Path:
        """The file that takes a stage's output, its last run's alone."""
        return self._logs / f"{stage}.log"

    def stop(self) -> None:
        """End the stages that run, and start nothing more; training leaves its checkpoints."""
        self._programs.stop()
