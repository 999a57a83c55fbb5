"""ReXrank's file of predictions: its input with a report in every entry, written once all are there."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol

from radrl.reporting import Asked, Reporter, TrainedArm, film_as_seen
from radrl.rexrank.form import PREDICTION, FormError, Study, context
from radrl.storage import json_files
from radrl.storage.digests import sha256
from radrl.storage.whole_files import whole_file


class Unfinished:
    """A file of finished reports beside the output, for the time of a `with` block.

    Its first line says what the reports depend on, each other line is a study's key and its report. A line
    that a kill cut short is no report and is cut off.

    Args:
        path: the file; made when it is not there.
        about: what every report depends on.

    Raises:
        FormError: the file is another process's, or of reports that depend on something else.
    """

    def __init__(self, path: Path, about: Mapping[str, str]) -> None:
        self._path = path
        self._about = dict(about)
        self.reports: dict[str, str] = {}
        self._stream: IO[bytes]

    def __enter__(self) -> Unfinished:
        try:
            self._stream = self._path.open("a+b")
        except OSError as error:
            raise FormError(
                f"{self._path} cannot be opened: {error.strerror}. Mend: take away what is there"
            ) from error
        try:
            self._lock()
            self._read()
        except BaseException:
            self._stream.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()

    def add(self, reports: Iterable[tuple[str, str]]) -> None:
        """Keep reports; when this returns a kill no longer takes them.

        Args:
            reports: studies' keys and their reports.
        """
        for key, report in reports:
            self._stream.write(_line([key, report]))
            self.reports[key] = report
        self._sync()

    def remove(self) -> None:
        """Take the file away: the output has all of it."""
        self._path.unlink(missing_ok=True)

    def _lock(self) -> None:
        try:
            fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FormError(f"another process writes {self._path}; wait for it, or end it") from None

    def _read(self) -> None:
        self._stream.seek(0)
        whole = [line for line in self._stream if line.endswith(b"\n")]
        self._stream.truncate(sum(map(len, whole)))
        if not whole:
            self._stream.write(_line(self._about))
            self._sync()
        elif self._said(1, whole[0]) != self._about:
            raise FormError(
                f"{self._path} has reports of another input, arm or setting, left by a run that was stopped. "
                "Mend: remove it to begin anew, or name another output"
            )
        self.reports = dict(self._report(number, line) for number, line in enumerate(whole[1:], 2))

    def _said(self, number: int, line: bytes) -> Any:
        try:
            return json_files.parsed(line)
        except json_files.NoJson as error:
            raise self._damaged(number, str(error)) from None

    def _report(self, number: int, line: bytes) -> tuple[str, str]:
        match self._said(number, line):
            case [str(key), str(report)]:
                return key, report
        raise self._damaged(number, "no study's key and report")

    def _damaged(self, number: int, why: str) -> FormError:
        return FormError(f"{self._path}, line {number}: {why}. Mend: remove the file to begin anew")

    def _sync(self) -> None:
        self._stream.flush()
        os.fsync(self._stream.fileno())


def _line(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True).encode() + b"\n"


class Writer(Protocol):
    """Writes reports."""

    def picture(self, film: Path) -> bytes:
        """A film as the policy is shown it.

        Raises:
            ValueError: it cannot be read; the message names it.
        """
        ...

    def write(
        self, studies: Sequence[Study], pictures: Sequence[tuple[bytes, ...]], first: int
    ) -> Sequence[str]:
        """Reports of some studies by their pictures; `first` is the place of the first among all."""
        ...


class ArmWriter:
    """See `Writer`.

    Args:
        reporter: the arm's policy, open.
        asked: how it is asked.
    """

    def __init__(self, reporter: Reporter, asked: Asked) -> None:
        self._reporter, self._asked = reporter, asked

    def picture(self, film: Path) -> bytes:
        """See `Writer`: as ingest brings films into the corpus."""
        return film_as_seen(film, self._asked)

    def write(self, studies: Sequence[Study], pictures: Sequence[tuple[bytes, ...]], first: int) -> list[str]:
        """See `Writer`: as generate lets the policy write."""
        known = [context(study.entry) for study in studies]
        return [report.text for report in self._reporter.write(pictures, first=first, known=known)]


def about(arm: TrainedArm, asked: Asked) -> dict[str, str]:
    """What an arm's reports depend on.

    Args:
        arm: the arm.
        asked: how it is asked.

    Returns:
        Digests of its policy's files, and how it is asked and about which films.
    """
    files = sorted(file for file in arm.folder.rglob("*") if file.is_file())
    settings = asdict(asked) | {"views": list(arm.params.ingest.views)}
    return {
        "policy": " ".join(sha256(file) for file in files),
        "asked": json.dumps(settings, sort_keys=True),
    }


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
            reports = writer.write(part, pictures, start)
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
