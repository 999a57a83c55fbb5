"""Runs whose process is gone: a kill leaves them open, and the next stage on the machine closes them.

A process is known by its number and by when it began, counted from the machine's start where the system says
so (Linux): the clock may be set while a training runs, and a run that lives must not be called killed.
"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psutil

if TYPE_CHECKING:
    from mlflow import MlflowClient

HOST: Final = "process.host"
PROCESS: Final = "process.id"

_BEGAN: Final = 19
"""Place of the process' start in /proc/PID/stat, in ticks since the machine's, behind the command's name."""


def marks() -> dict[str, str]:
    """Tags that say which process a run belongs to: the machine, and id and start of the process."""
    own = psutil.Process().pid
    return {HOST: socket.gethostname(), PROCESS: f"{own} {_began(own)}"}


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
    """Whether the process is there still, and not another under its number."""
    number, _, began = process.partition(" ")
    try:
        return _began(int(number)) == began
    except (psutil.NoSuchProcess, OSError):
        return False


def _began(process: int) -> str:
    """When a process began: the machine's start by its name and the ticks since; elsewhere by the clock.

    Raises:
        psutil.NoSuchProcess, OSError: when there is none of this number.
    """
    boot = Path("/proc/sys/kernel/random/boot_id")
    if not boot.is_file():
        return f"{psutil.Process(process).create_time():.2f}"
    # the name stands in parentheses and may hold any character
    behind = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
    return f"{boot.read_text(encoding='utf-8').strip()} {behind.split()[_BEGAN]}"
