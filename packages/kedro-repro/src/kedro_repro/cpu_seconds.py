"""What each stage cost in CPU seconds when it last ran: a file a stage, beside the reports.

They are no output of DVC: seconds differ from run to run, and a stage that is restored from the cache keeps
the figure of when it ran here. The comparison page reads them where they are there. Two kinds are kept apart,
because two processes know them: `stage`, the one that does the work with its children, and `dvc`, the one
that starts it, hashes its files and writes dvc.lock. A training that was killed has its last part alone.
"""

from __future__ import annotations

import json
import resource
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kedro_repro.whole_file import whole_file

FOLDER: Final = Path("08_reporting/cpu_seconds")
"""Where they lie, from the folder of all data."""

OWN: Final = "stage"
DVC: Final = "dvc"


class NoSeconds(ValueError):
    """A file holds no CPU seconds; the message names it and the mend."""


def used() -> float:
    """CPU seconds of this process so far, and of its children that have ended."""
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, who))


def note(folder: Path, stage: str, seconds: Mapping[str, float]) -> None:
    """Write down what a stage cost.

    Args:
        folder: of all stages.
        stage: its name as DVC has it, such as ``train@grpo``.
        seconds: by kind, `OWN` or `DVC`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with whole_file(_file(folder, stage)) as stream:
        stream.write(json.dumps({kind: round(value, 2) for kind, value in seconds.items()}).encode())


def cost_of_stage(folder: Path, stage: str, *, since: int = 0) -> dict[str, float]:
    """What a stage cost.

    Args:
        folder: of all stages.
        stage: its name as DVC has it.
        since: nanoseconds of the clock; what was noted before does not count.

    Returns:
        Seconds by kind; nothing where none were noted.
    """
    file = _file(folder, stage)
    if not file.is_file() or file.stat().st_mtime_ns < since:
        return {}
    try:
        said = json.loads(file.read_bytes())
    except ValueError:
        said = None
    if not isinstance(said, dict) or not all(type(value) in (int, float) for value in said.values()):
        raise NoSeconds(f"{file} holds no seconds by kind; remove it: it is written anew when the stage runs")
    return said


def read(folder: Path) -> dict[str, float]:
    """What is known of all stages.

    Args:
        folder: of all stages.

    Returns:
        By stage, all of its seconds; in the order of names.
    """
    return {
        file.stem: sum(cost_of_stage(folder, file.stem).values()) for file in sorted(folder.glob("*.json"))
    }


def minutes(seconds: Mapping[str, float]) -> dict[str, float]:
    """CPU minutes by group of stages, the most first.

    Args:
        seconds: by stage as DVC has it.

    Returns:
        By name before the ``@``.

    Example:
        >>> minutes({"label": 30.0, "train@deer": 60.0, "train@grpo": 90.0})
        {'train': 2.5, 'label': 0.5}
    """
    groups: dict[str, float] = {}
    for stage, value in seconds.items():
        group = stage.partition("@")[0]
        groups[group] = groups.get(group, 0.0) + value / 60
    return dict(sorted(groups.items(), key=lambda item: -item[1]))


def _file(folder: Path, stage: str) -> Path:
    return folder / f"{stage}.json"
