"""MLflow's data base in a file of one's own: there with all of its tables, or not at all.

MLflow makes its tables one after another when it first opens the file. After a kill in between it finds some
of them, makes them all again, and fails from then on.
"""

from __future__ import annotations

import fcntl
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path


def ensure(file: Path) -> None:
    """Make the data base where there is none, or one that was not finished and holds no run.

    Args:
        file: of SQLite.
    """
    with one_at_a_time(file):  # stages beside this one want it too
        if not _finished(file):
            _make(file)


@contextmanager
def one_at_a_time(file: Path) -> Iterator[None]:
    """A block that processes of this machine enter one after another.

    Args:
        file: of SQLite; a hidden file beside it is locked, whether it is there or not.
    """
    with file.with_name(f".{file.name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _finished(file: Path) -> bool:
    """Whether MLflow came to its end: the experiment that every data base has is what it makes last."""
    if not file.is_file():
        return False
    with closing(sqlite3.connect(file)) as base:
        tables = {name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        return "experiments" in tables and bool(base.execute("SELECT 1 FROM experiments LIMIT 1").fetchall())


def _make(file: Path) -> None:
    """Let MLflow make it beside its place, and move it there."""
    from mlflow import MlflowClient

    partial = file.with_name(f".{file.name}.partial")
    for name in (partial.name, f"{file.name}-"):  # SQLite's own files beside them, too
        for left in file.parent.glob(f"{name}*"):
            left.unlink()
    client = MlflowClient(f"sqlite:///{partial}")
    client.search_experiments(max_results=1)
    client._tracking_client.store.engine.dispose()
    partial.replace(file)
