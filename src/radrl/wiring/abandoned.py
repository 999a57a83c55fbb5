"""Runs whose process is gone: a kill leaves them open, and the next stage on the machine closes them."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Final

import psutil

if TYPE_CHECKING:
    from mlflow import MlflowClient

HOST: Final = "process.host"
PROCESS: Final = "process.id"


def marks() -> dict[str, str]:
    """Tags that say which process a run belongs to: the machine, and id and start of the process."""
    own = psutil.Process()
    return {HOST: socket.gethostname(), PROCESS: f"{own.pid} {own.create_time():.2f}"}


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
    number, started = process.split(" ")
    try:
        return f"{psutil.Process(int(number)).create_time():.2f}" == started
    except psutil.NoSuchProcess:
        return False
