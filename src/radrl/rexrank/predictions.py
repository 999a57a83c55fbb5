"""ReXrank's file of predictions: its input with a report in every entry, written once all are there."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from radrl.rexrank.form import FormError, Study, located
from radrl.rexrank.unfinished import Unfinished
from radrl.storage.whole_files import whole_file

PREDICTION: Final = "model_prediction"
"""The key under which ReXrank reads a report."""

Write = Callable[[Sequence[Path]], Sequence[str]]
"""Reports of some films, one each, in their order."""


def unfinished_path(output: Path) -> Path:
    """Where a run keeps what it has until all is there."""
    return output.with_name(f"{output.name}.unfinished")


def fill(
    studies: Sequence[Study],
    folder: Path,
    write: Write,
    output: Path,
    *,
    about: Mapping[str, str],
    at_once: int,
    done: Callable[[int], object] = lambda reports: None,
) -> int:
    """Write a report for every study, and the file of all of them.

    Args:
        studies: of `radrl.rexrank.form.read`.
        folder: of the films.
        write: writes the reports.
        output: the file, replaced when it exists. A kill leaves the finished reports beside it, and the same
            call goes on from there.
        about: what the reports depend on: digests of input and policy, settings.
        at_once: films given to `write` at a time.
        done: told how many reports are there since it was told last.

    Returns:
        How many reports were taken over from a run that was stopped.

    Raises:
        FormError: a film is not there, before anything is written; one could not be read, naming its study;
            or the finished reports beside the output are of something else.
    """
    films = located(studies, folder)
    with Unfinished(unfinished_path(output), about) as kept:
        taken = len(kept.reports)
        done(taken)
        left = [pair for pair in zip(studies, films, strict=True) if pair[0].key not in kept.reports]
        for start in range(0, len(left), at_once):
            part = left[start : start + at_once]
            kept.add(_reports(part, write))
            done(len(part))
        _write_whole(studies, kept.reports, output)
        kept.remove()
    return taken


def _reports(part: Sequence[tuple[Study, Path]], write: Write) -> list[tuple[str, str]]:
    """Keys and reports of some studies; where a film stops all of them, which one it is."""
    try:
        reports = write([film for _, film in part])
    except (ValueError, OSError) as error:
        if len(part) > 1:
            return [found for one in part for found in _reports([one], write)]
        raise FormError(f"study {part[0][0].key!r}: {error}") from error
    return [(study.key, report) for (study, _), report in zip(part, reports, strict=True)]


def _write_whole(studies: Sequence[Study], reports: Mapping[str, str], output: Path) -> None:
    filled = {study.key: {**study.entry, PREDICTION: reports[study.key]} for study in studies}
    with whole_file(output) as stream:
        stream.write(json.dumps(filled, indent=4).encode() + b"\n")
