"""What came out of each mutant, kept so that a run that was ended goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

KILLED = ("failed", "time")


@dataclass(frozen=True)
class Entry:
    """One mutant's.

    Args:
        name: the mutant's.
        source: digest of the module without it.
        state: ``failed``: a test did; ``time``: it ran out of time; ``passed``: no test noticed;
            ``cut``: nor did those that were run, but not all were; ``unread``: no test runs its line.
        by: the test that failed.
        why: the last line of its error.
        tests: digest of the room's tests, or of the file of the one that failed.
        ran: tests that were run at most.
        cpu: seconds.
    """

    name: str
    source: str
    state: str
    by: str
    why: str
    tests: str
    ran: int
    cpu: float

    @property
    def killed(self) -> bool:
        return self.state in KILLED


class Ledger:
    """Entries in a file, a line each; the last of a mutant holds."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.entries = {entry.name: entry for entry in _read(file)}

    def add(self, entry: Entry) -> None:
        self.entries[entry.name] = entry
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(entry), ensure_ascii=False) + "\n")


def _read(file: Path) -> Iterator[Entry]:
    if not file.exists():
        return
    for line in file.read_text(encoding="utf-8").splitlines():
        try:
            yield Entry(**json.loads(line))
        except (json.JSONDecodeError, TypeError):
            continue  # cut off by a kill, or of an earlier form: that mutant is run again
