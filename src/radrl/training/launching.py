"""A job run in the stage's own process, or in several that a launcher starts and the stage looks after.

The launcher is accelerate's, or a command of the user's (`torchrun`, `srun`) that starts
`radrl.training.worker` once a process. The stage passes on the steps that the first process writes, and takes
the policy that it leaves. A stage that ends takes the launcher with it, a process that fails ends the run
with its message, and what is started again goes on from the last checkpoint.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from radrl.process import importing
from radrl.process.children import end_with_parent
from radrl.training.callbacks import Report
from radrl.training.job import Job, write
from radrl.training.preflight import SettingsError

if TYPE_CHECKING:
    from transformers import TrainerCallback

STEPS: Final = "steps.jsonl"
"""In the workspace: the first process' steps, a line each."""
TRAINED: Final = "trained"
"""In the workspace: what the first process leaves at the end."""
POLICY: Final = "policy"
CURVE: Final = "curve.json"

WORKER: Final = "radrl.training.worker"
CONFIGS: Final = Path("conf/accelerate")

_LOOK: Final = 0.2
"""Seconds between two looks at the steps."""
_PATIENCE: Final = 20.0
"""Seconds that a launcher has to end its processes before they are killed."""

Trained = tuple[Callable[[Path], None], pd.DataFrame]
"""What writes a trained policy's folder, and the training curve."""


class WorkerFailed(RuntimeError):
    """One of the processes failed; the message is its own, with its number."""


def train(
    job: Job,
    compute: Mapping[str, Any] | None = None,
    *,
    report: Report,
    observers: Callable[[], Sequence[TrainerCallback]] = tuple,
) -> Trained:
    """Run a job to its end.

    Args:
        job: what is trained.
        compute: the section `compute` of params.yaml; nothing for this process alone.
        report: told each step's numbers.
        observers: gives what looks on in this process; several processes bring their own.

    Returns:
        What writes the policy's folder and then clears the workspace, and the training curve.

    Raises:
        SettingsError: when the job does not fit the machine, the policy or the films.
        WorkerFailed: when a process of several failed.
    """
    processes = compute["processes"] if compute else 1
    job.prepare(processes)
    if compute is None or processes == 1:
        from radrl.training.checkpoints import writing

        policy, curve = job.run(report, observers())
        return writing(policy, job.workspace), pd.DataFrame(curve)
    done = job.workspace / TRAINED
    if not done.is_dir():
        file = write(job, job.workspace, processes)
        _launch(command(compute, file, device=job.device), job.workspace, report)
    rows = json.loads((done / CURVE).read_text(encoding="utf-8"))
    return partial(_hand_over, job.workspace), pd.DataFrame(rows)


def command(compute: Mapping[str, Any], job: Path, *, device: str) -> list[str]:
    """What starts the processes of a job.

    Args:
        compute: processes, and config or command: a template in which {processes}, {python}, {worker},
            {job} and variables of the environment are replaced.
        job: the job's file.
        device: as params.yaml's `device`; without a config it says which of the project's is taken.

    Returns:
        The command with its arguments.

    Raises:
        SettingsError: when the config is not there, or the template has another name in braces.

    Example:
        >>> command({"processes": 8, "command": "srun -n {processes} {job}"}, Path("job.json"), device="cuda")
        ['srun', '-n', '8', 'job.json']
    """
    names = {"processes": compute["processes"], "python": sys.executable, "worker": WORKER, "job": job}
    if compute.get("command"):
        try:
            return [os.path.expandvars(part).format(**names) for part in shlex.split(compute["command"])]
        except (KeyError, ValueError, IndexError) as error:
            raise SettingsError(
                f"compute.command {compute['command']!r}: {error}; in braces stand {', '.join(names)}"
            ) from None
    config = Path(compute.get("config") or CONFIGS / ("cpu2.yaml" if device == "cpu" else "ddp.yaml"))
    if not config.is_file():
        raise SettingsError(
            f"compute.config: {config.resolve()} is not there; accelerate's configurations are in {CONFIGS}"
        )
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--config_file", str(config)]
    count = ["--num_processes", str(compute["processes"]), "--main_process_port", "0"]
    return [*launch, *count, "-m", WORKER, str(job)]


def failure_of(rank: int | str) -> str:
    """The file in which a process says why it failed; ``"*"`` for what matches those of all."""
    return f"failure-{rank}.json"


def _launch(arguments: Sequence[str], workspace: Path, report: Report) -> None:
    """Start a launcher, pass on the steps, and wait for its end."""
    for left in (*workspace.glob(failure_of("*")), workspace / STEPS):
        left.unlink(missing_ok=True)
    # a session of its own: one signal reaches all of its processes
    launcher = subprocess.Popen(
        arguments,
        start_new_session=True,
        env=_environment(),
        preexec_fn=partial(end_with_parent, os.getpid()),
    )
    told = 0
    try:
        while True:
            status = launcher.poll()
            told = _pass_on(workspace / STEPS, told, report)
            if status is not None:
                break
            time.sleep(_LOOK)
    finally:
        _end(launcher)
    if status:
        raise WorkerFailed(_why(workspace, status))


def _environment() -> dict[str, str]:
    # the stage's own folder of modules, however it was found
    source = Path(__file__).resolve().parents[2]
    return {**os.environ, "PYTHONPATH": importing.first(source, os.environ)}


def _pass_on(steps: Path, told: int, report: Report) -> int:
    """Report the whole lines of a file from a byte on; the byte behind the last of them."""
    if not steps.is_file():
        return told
    with steps.open("rb") as stream:
        stream.seek(told)
        lines = stream.read()
    whole = lines[: lines.rfind(b"\n") + 1]
    for line in whole.splitlines():
        step, metrics = json.loads(line)
        report(step, metrics)
    return told + len(whole)


def _end(launcher: subprocess.Popen[bytes]) -> None:
    """End a launcher and all it started: first as on a signal, then by force."""
    if launcher.poll() is None:
        launcher.terminate()  # it ends its processes, which are sessions of their own to some launchers
        with contextlib.suppress(subprocess.TimeoutExpired):
            launcher.wait(_PATIENCE)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(launcher.pid, signal.SIGKILL)
    launcher.wait()


def _why(workspace: Path, status: int) -> str:
    """Of the processes that failed the one that failed first: the others ended because of it."""
    told = sorted(workspace.glob(failure_of("*")), key=lambda file: file.stat().st_mtime_ns)
    for file in told:
        kind, message = json.loads(file.read_text(encoding="utf-8"))
        if kind not in ("SystemExit", "KeyboardInterrupt"):
            number = file.stem.rpartition("-")[2]
            return f"process {number} of the training failed: {kind}: {message}"
    ended = f"signal {-status}" if status < 0 else f"exit status {status}"
    return (
        "a process of the training was ended from outside, by hand or by the system when memory ran out (the "
        f"launcher has {ended}); what it printed stands above. Started again, the training goes on from its "
        "last checkpoint"
    )


def _hand_over(workspace: Path, target: Path) -> None:
    """Move the policy that was trained into a folder, and clear the workspace."""
    for file in sorted((workspace / TRAINED / POLICY).iterdir()):
        shutil.move(file, target / file.name)
    shutil.rmtree(workspace)
