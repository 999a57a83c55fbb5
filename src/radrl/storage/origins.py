"""Where each stage last ran here: commit, machine, releases and minutes of the clock, a file a stage.

As with `kedro_repro.cpu_seconds` they are no output of DVC: they differ from run to run, and a stage that
is restored from the cache keeps what was noted when it ran here. The comparison page reads them where they
are there. A training that was killed has its last part alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from radrl.storage import json_files
from radrl.storage.whole_files import whole_file

FOLDER: Final = Path("08_reporting/origins")
"""Where they lie, from the folder of all data."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a stage ran.

    Args:
        commit: of the code, "+" behind it where tracked files had changed; empty outside git.
        machine: processor, cores, memory and, where torch computed on one, the accelerator.
        releases: of Python and of the packages that decide numbers, by name.
        minutes: of the clock; nothing of a stage that is running.
    """

    commit: str
    machine: str
    releases: Mapping[str, str] = field(default_factory=dict)
    minutes: float | None = None


def note(folder: Path, stage: str, origin: Origin) -> None:
    """Write down where a stage ran.

    Args:
        folder: of all stages.
        stage: its name as DVC has it, such as ``train@grpo``.
        origin: with its minutes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with whole_file(folder / f"{stage}.json") as stream:
        stream.write(json.dumps(asdict(origin), indent=2).encode())


def read(folder: Path) -> dict[str, Origin]:
    """What is known of all stages.

    Args:
        folder: of all stages.

    Returns:
        By stage, in the order of names.
    """
    return {file.stem: _noted(file) for file in sorted(folder.glob("*.json"))}


def _noted(file: Path) -> Origin:
    mend = "remove it: it is written anew when the stage runs"
    match json_files.read(file, mend=mend):
        case {
            "commit": str(),
            "machine": str(),
            "releases": dict(),
            "minutes": int() | float() | None,
        } as said:
            return Origin(**{name: said[name] for name in Origin.__slots__})
    raise json_files.NoJson(f"{file} does not say where a stage ran; {mend}")
