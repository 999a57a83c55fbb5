"""What a stage has run with, noted at its end until dvc.lock has been held against it.

DVC reads params.yaml again when a stage's command has ended, and writes down what stands there by then. So a
stage that DVC started leaves a note when it ends well: a file a run, which no stage reads and DVC takes no
digest of. Whoever looks next (`kedro_repro.false_records`) compares, and takes the note away.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from glob import escape
from pathlib import Path, PurePath
from typing import Any, Final

from kedro_repro.code_digests import CODE_FILE
from kedro_repro.dvc_lock import load
from kedro_repro.params_values import MISSING, PARAMS_FILE, value
from kedro_repro.whole_file import whole_file

FOLDER: Final = Path("data/08_reporting/ran")
"""Where notes lie, from the project's root."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What one run of a stage computed with, and what it made.

    Args:
        stage: its name as DVC has it, such as ``train@grpo``.
        params: the text of params.yaml as the stage began.
        digest: of its code as it began.
        reads: paths of the artifacts that it read, from the project's root.
        outs: DVC's digests of its outputs, by path.
        runs: DVC's folder of records of earlier runs, from the project's root where it lies below it; empty
            where it is not known.
    """

    stage: str
    params: str
    digest: str
    reads: Sequence[str]
    outs: Mapping[str, str]
    runs: str

    def is_of_outputs(self, entry: Mapping[str, Any]) -> bool:
        """Whether a record of DVC's is of these very outputs.

        Args:
            entry: of dvc.lock, or of the folder of records.
        """
        told = {out["path"]: out.get("md5") for out in entry.get("outs", [])}
        shared = told.keys() & self.outs.keys()
        return bool(shared) and all(told[path] == self.outs[path] for path in shared)

    def unlike(self, entry: Mapping[str, Any]) -> list[str]:
        """What a record of these outputs says that did not run.

        Args:
            entry: of dvc.lock, or of the folder of records.

        Returns:
            Keys of params.yaml down to the value that differs, `the code`, and artifacts that were read and
            of which the record says nothing, as when a key that names a path was another.
        """
        params, told = load(self.params), entry.get("params", {})
        keys = [
            leaf
            for key, recorded in told.get(str(PARAMS_FILE), {}).items()
            for leaf in _leaves(key, value(params, key), recorded)
        ]
        code = told.get(str(CODE_FILE), {})
        keys += ["the code"] if any(recorded != self.digest for recorded in code.values()) else []
        deps = [PurePath(dep["path"]) for dep in entry.get("deps", [])]
        return keys + [path for path in self.reads if not any(map(PurePath(path).is_relative_to, deps))]

    def write(self, root: Path) -> None:
        """Leave the note in a project's folder."""
        folder = root / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(folder / f"{self.stage}.{time.time_ns()}.{os.getpid()}.json") as stream:
            stream.write(json.dumps(asdict(self)).encode())


def notes(root: Path, only: str = "") -> Iterator[tuple[Path, RunRecord]]:
    """The notes that nobody has looked at, in the order in which the stages ended.

    Args:
        root: the project's folder.
        only: the one stage whose notes are looked for; without it all are.

    Yields:
        The file, and what it says.
    """
    files = (root / FOLDER).glob(f"{escape(only) or '*'}.*.*.json")
    for file in sorted(files, key=lambda file: int(file.name.split(".")[-3])):
        yield file, RunRecord(**json.loads(file.read_text(encoding="utf-8")))


def _leaves(key: str, ran: Any, recorded: Any) -> Iterator[str]:
    """The keys under which two values differ, as far down as both have sections."""
    if isinstance(ran, Mapping) and isinstance(recorded, Mapping):
        for name in [*ran, *(name for name in recorded if name not in ran)]:
            yield from _leaves(f"{key}.{name}", ran.get(name, MISSING), recorded.get(name, MISSING))
    elif ran is MISSING or recorded is MISSING or _written(ran) != _written(recorded):
        yield key


def _written(value: Any) -> str:
    """A value with its type: 1, 1.0 and true are three, and no number is itself."""
    return json.dumps(value, sort_keys=True, default=str)
