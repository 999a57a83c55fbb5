"""Records of what did not run, taken out of dvc.lock and of DVC's records of earlier runs.

A stage looks whether its parameters and its code are what it began with, and then ends; DVC reads them
once more, hashes, and writes. What is changed in between stands there as what ran, and from then on a stage
of those parameters would be up to date, or restored, with outputs that others made. The note the stage left
at its end (`kedro_repro.run_records`) tells.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

from ruamel.yaml.error import YAMLError

from kedro_repro import dvc_lock
from kedro_repro.dvc_repair import whole
from kedro_repro.run_records import RunRecord, notes
from kedro_repro.whole_file import whole_file

_YOUNGER: Final = 300.0
"""Seconds by which the clock of DVC's cache may be behind that of the project's folder."""


def take_out(root: Path, only: str = "") -> dict[str, str]:
    """Hold what DVC wrote against what ran, and take out what did not run.

    Args:
        root: the project's folder.
        only: the one stage to look at, where others may be looked at just now; without it all are.

    Returns:
        By stage whose entry of dvc.lock was taken out, what to say of it. A stage that DVC has not written
        down yet is looked at the next time.
    """
    if not any(notes(root, only)):
        return {}
    with dvc_lock.locked(root):
        text = _whole(root)
        if text is None:
            return {}
        ended = _ended(root, only)
        found = _untrue(text, [*ended.values()])
        if found:
            _write(root / dvc_lock.LOCK_FILE, text, found)
        for record in _untrue_records(root, ended):
            record.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # it has others; over an empty folder DVC stumbles
                record.parent.rmdir()
        for note in ended:
            note.unlink()
    return {stage: taken_out_message(stage, keys) for stage, keys in found.items()}


def find(root: Path) -> dict[str, str]:
    """What `take_out` would take out, and nothing is taken.

    Args:
        root: the project's folder.

    Returns:
        By stage what to say of it.
    """
    if not any(notes(root)):
        return {}
    with dvc_lock.locked(root):
        text = _whole(root)
        found = _untrue(text, [*_ended(root).values()]) if text else {}
    return {
        stage: f"dvc.lock says of {stage} what did not run: {', '.join(keys)} changed before DVC wrote it "
        "down. The next start takes the entry out, and runs the stage again"
        for stage, keys in found.items()
    }


def _whole(root: Path) -> str | None:
    """The text of dvc.lock, empty where there is none; nothing of one that a kill cut off."""
    file = root / dvc_lock.LOCK_FILE
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    return None if text and not whole(text) else text  # which is mended first


def _ended(root: Path, only: str = "") -> dict[Path, RunRecord]:
    """Notes of stages that DVC has written down."""
    busy = dvc_lock.written_now(root)
    return {note: ran for note, ran in notes(root, only) if not busy & ran.outs.keys()}


def taken_out_message(stage: str, keys: list[str]) -> str:
    """What to say of a stage whose entry was taken out."""
    return (
        f"dvc.lock said of {stage} what did not run: {', '.join(keys)} changed before DVC wrote it down. The "
        "entry is taken out, and the stage runs again"
    )


def _untrue(text: str, ended: Collection[RunRecord]) -> dict[str, list[str]]:
    """By stage the keys of which a dvc.lock says something that did not run."""
    entries = {ran.stage: dvc_lock.entry(text, ran.stage) for ran in ended}
    found = {stage: _unlike(entry, stage, ended) for stage, entry in entries.items() if entry is not None}
    return {stage: keys for stage, keys in found.items() if keys}


def _unlike(entry: Mapping[str, Any], stage: str, ended: Collection[RunRecord]) -> list[str]:
    """What differs from the last of the runs that made these outputs; nothing where one is as recorded.

    Where none made them, the record is of another time or machine.
    """
    keys = [ran.unlike(entry) for ran in ended if ran.stage == stage and ran.is_of_outputs(entry)]
    return keys[-1] if keys and all(keys) else []


def _write(file: Path, text: str, stages: Mapping[str, object]) -> None:
    """Write dvc.lock without some stages."""
    for stage in stages:
        text = dvc_lock.without(text, stage)
    if not text:
        file.unlink()
        return
    with whole_file(file) as stream:
        stream.write(text.encode())


def _untrue_records(root: Path, ended: Mapping[Path, RunRecord]) -> list[Path]:
    """Records that say what did not run; those that are older are of runs that were looked at."""
    since = {
        root / ran.runs: min(note.stat().st_mtime for note in ended) - _YOUNGER
        for ran in ended.values()
        if ran.runs
    }
    young = [
        record
        for folder, begin in since.items()
        for record in folder.glob("*/*/*")
        if record.suffix != ".tmp" and record.stat().st_mtime >= begin
    ]
    stages = {ran.stage for ran in ended.values()}
    return [
        record
        for record in young
        if (entry := _record(record)) and any(_unlike(entry, stage, ended.values()) for stage in stages)
    ]


def _record(file: Path) -> Mapping[str, Any] | None:
    try:
        found: Mapping[str, Any] | None = dvc_lock.load(file.read_text(encoding="utf-8"))
    except (OSError, YAMLError):  # broken ones DVC removes itself, and so may another process now
        return None
    return found
