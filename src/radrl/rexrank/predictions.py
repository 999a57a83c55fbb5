"""ReXrank's file of predictions: its input with a report in every entry, written once all are there."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

from radrl.rexrank.form import FormError, Study
from radrl.rexrank.unfinished import Unfinished
from radrl.storage.whole_files import whole_file

PREDICTION: Final = "model_prediction"
"""The key under which ReXrank reads a report."""


class Writer(Protocol):
    """Writes reports."""

    def picture(self, film: Path) -> bytes:
        """A film as the policy is shown it.

        Raises:
            ValueError: it cannot be read; the message names it.
        """
        ...

    def write(self, pictures: Sequence[tuple[bytes, ...]], first: int) -> Sequence[str]:
        """Reports of some studies by their pictures; `first` is the place of the first among all."""
        ...


def unfinished_path(output: Path) -> Path:
    """Where a run keeps what it has until all is there."""
    return output.with_name(f"{output.name}.unfinished")


def fill(
    studies: Sequence[Study],
    films: Mapping[str, Sequence[Path]],
    writer: Writer,
    output: Path,
    *,
    about: Mapping[str, str],
    at_once: int,
    done: Callable[[int], object] = lambda reports: None,
) -> int:
    """Write a report for every study, and the file of all of them.

    Args:
        studies: of `radrl.rexrank.form.read`.
        films: by study, of `radrl.rexrank.form.located`.
        writer: writes the reports.
        output: the file, replaced when it exists. A kill leaves the finished reports beside it, and the same
            call goes on from there.
        about: what the reports depend on: digests of input and policy, settings.
        at_once: studies written at a time.
        done: told how many reports are there since it was told last.

    Returns:
        How many reports were taken over from a run that was stopped.

    Raises:
        FormError: a film cannot be read, naming its study; or the finished reports beside the output are of
            something else, or another process's.
    """
    with Unfinished(unfinished_path(output), about) as kept:
        taken = len(kept.reports)  # the first ones: they are written in the studies' order
        done(taken)
        for start in range(taken, len(studies), at_once):
            part = studies[start : start + at_once]
            pictures = [_pictures(study, films[study.key], writer) for study in part]
            reports = writer.write(pictures, start)
            kept.add((study.key, report) for study, report in zip(part, reports, strict=True))
            done(len(part))
        _write_whole(studies, kept.reports, output)
        kept.remove()
    return taken


def _pictures(study: Study, films: Sequence[Path], writer: Writer) -> tuple[bytes, ...]:
    try:
        return tuple(writer.picture(film) for film in films)
    except ValueError as error:
        raise FormError(f"study {study.key!r}: {error}") from error


def _write_whole(studies: Sequence[Study], reports: Mapping[str, str], output: Path) -> None:
    filled = {study.key: {**study.entry, PREDICTION: reports[study.key]} for study in studies}
    with whole_file(output) as stream:
        stream.write(json.dumps(filled, indent=4).encode() + b"\n")
