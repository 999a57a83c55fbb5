"""Answers on disk, so that a run that was stopped goes on where it was.

The file holds digests of prompts and the answers in clear. An answer may quote the report it is about: the
file is patient data, readable by its owner alone, and lies where the user says.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from radrl.scoring.base import ScoringError

_WAIT_SECONDS: Final = 60.0
"""How long a write waits for another process's."""


def cache_key(asked: Mapping[str, Any]) -> str:
    """Digest everything that an answer depends on.

    Args:
        asked: backend, model, settings and prompt, as JSON can write them.

    Returns:
        SHA-256, hexadecimal.
    """
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


class AnswerCache:
    """Answers by key in one SQLite file; threads and processes may share it, and a kill leaves it whole.

    Args:
        path: the file; made, with its folder, if it is not there.

    Raises:
        ScoringError: when the file is something else or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
        except OSError as error:
            raise ScoringError(f"no cache of answers at {path}: {error.strerror}") from error
        # without isolation_level every statement is a transaction of its own, on disk when it returns
        try:
            self._connection = sqlite3.connect(
                path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise self._broken(error) from error
        self._run(
            "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL) WITHOUT ROWID"
        )

    def get(self, key: str) -> str | None:
        """The answer kept under a key, or nothing."""
        rows = self._run("SELECT answer FROM answers WHERE key = ?", key)
        return str(rows[0][0]) if rows else None

    def put(self, key: str, answer: str) -> str:
        """Keep an answer, unless another process was first.

        Args:
            key: of `cache_key`.
            answer: a whole answer.

        Returns:
            What is now kept, and what a later run will read.
        """
        self._run("INSERT OR IGNORE INTO answers VALUES (?, ?)", key, answer)
        kept = self.get(key)
        return answer if kept is None else kept

    def drop(self, key: str) -> None:
        """Forget the answer kept under a key, if there is one."""
        self._run("DELETE FROM answers WHERE key = ?", key)

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def _run(self, statement: str, *values: str) -> list[tuple[Any, ...]]:
        try:
            with self._lock:
                return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise self._broken(error) from error

    def _broken(self, error: sqlite3.Error) -> ScoringError:
        return ScoringError(
            f"cache of answers {self._path}: {error}; mend or delete the file, or name another"
        )
