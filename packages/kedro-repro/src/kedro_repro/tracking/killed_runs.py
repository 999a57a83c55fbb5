"""Runs whose process is gone: a kill leaves them open, and the next stage on the machine closes them."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psutil

if TYPE_CHECKING:
    from mlflow import MlflowClient

HOST: Final = "process.host"
PROCESS: Final = "process.id"

_PROC: Final = Path("/proc")
_BOOT: Final = _PROC / "sys/kernel/random/boot_id"
_TICKS: Final = 19
"""Where /proc/PID/stat says when the process began, counted from what follows its name."""


def marks() -> dict[str, str]:
    """Tags that say which process a run belongs to: the machine, and id and start of the process."""
    own = psutil.Process()
    return {HOST: socket.gethostname(), PROCESS: f"{own.pid} {_birth(own)}"}


def close(client: MlflowClient, experiment: str) -> int:
    """Mark open runs of this machine whose process has ended as killed.

    Args:
        client: of the record.
        experiment: its id.

    Returns:
        How many there were.
    """
    where = f"attributes.status = 'RUNNING' AND tags.`{HOST}` = '{socket.gethostname()}'"
    gone = [run for run in client.search_runs([experiment], where) if not _alive(run.data.tags[PROCESS])]
    for run in gone:
        client.set_terminated(run.info.run_id, "KILLED")
    return len(gone)


def _alive(process: str) -> bool:
    """Whether the process is there still: not another under its number, not what is left of a killed one."""
    number, born = process.split(" ")
    try:
        found = psutil.Process(int(number))
        return _birth(found) == born and found.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _birth(process: psutil.Process) -> str:
    """What no later process of its number has, and no setting of the clock changes.

    On Linux the start of the machine and the ticks from there: the time of day that psutil tells is reckoned
    from both anew and moves with the clock. Elsewhere the system has noted that time.
    """
    try:
        boot, line = _BOOT.read_text().strip(), (_PROC / f"{process.pid}/stat").read_text(errors="replace")
    except OSError:
        return f"{process.create_time():.2f}"
    return f"{boot}:{line.rpartition(')')[2].split()[_TICKS]}"  # the name before may hold blanks and brackets
