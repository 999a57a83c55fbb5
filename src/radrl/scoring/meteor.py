"""METEOR 1.5 by the Java program that pycocoevalcap carries.

pycocoevalcap's own wrapper fixes a heap of 2 GB, never reads Java's error stream (a full pipe stops both
sides) and leaves the process to the garbage collector. This one speaks the same protocol with the same
options, hence the same figures, and ends its process whatever happens. With the references known beforehand
it reads the paraphrases of these alone (`radrl.scoring.meteor_table`), which gives the same figures too.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import IO, Final

import numpy as np

from radrl.evaluation.meteor import addable
from radrl.evaluation.summed import FloatArray
from radrl.scoring.meteor_table import cut, kept, plain

DEFAULT_HEAP: Final = "1g"
"""The paraphrase table needs about 500 MB; 256 MB runs out of memory."""

_SHORT: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""For a few thousand pairs, which are scored before a second compilation and more collectors pay."""

_GRACE_SECONDS: Final = 10.0


def meteor_missing() -> str | None:
    """Why METEOR cannot run here, or nothing when it can."""
    if shutil.which("java") is None:
        return "no java on PATH"
    if not _jar().is_file():
        return f"no {_jar().name} in the installed pycocoevalcap"
    return None


class MeteorProcess:
    """METEOR's Java process, for the time of a `with` block.

    Args:
        heap: largest Java heap, in Java's notation.
        references: all references that will be scored, of `radrl.scoring.meteor_table.Texts.all`; nothing to
            have METEOR read all its paraphrases.
    """

    def __init__(self, heap: str = DEFAULT_HEAP, *, references: Sequence[str] = ()) -> None:
        self._heap, self._references = heap, references
        self._cut = ExitStack()

    def __enter__(self) -> MeteorProcess:
        table = self._cut.enter_context(cut(_jar(), self._references, kept()))
        command = [
            "java", *(_SHORT if table else ()), "-Dfile.encoding=UTF-8", f"-Xmx{self._heap}",
            "-jar", str(_jar()), "-", "-", "-stdio", "-l", "en", "-norm",
            *(("-a", str(table)) if table else ()),
        ]  # fmt: skip
        # Errors go to a file, which cannot fill up and block as a pipe that nobody reads does.
        self._errors: IO[bytes] = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._process.communicate(timeout=_GRACE_SECONDS)  # closes its input, at which it ends
        except subprocess.TimeoutExpired:
            pass  # killed below
        finally:
            self._process.kill()
            self._process.communicate()
            self._errors.close()
            self._cut.close()

    def score(self, references: Sequence[str], hypotheses: Sequence[str]) -> tuple[float, FloatArray]:
        """METEOR of prepared texts.

        Args:
            references: N reference reports, one line each.
            hypotheses: N generated reports, one line each.

        Returns:
            The corpus figure, from pooled counts, and one value per report, shape (N,).

        Raises:
            RuntimeError: when the process ends early or answers with an error.
        """
        counts, per_report = self.score_part(references, hypotheses)
        return self.corpus(counts), per_report

    def score_part(
        self, references: Sequence[str], hypotheses: Sequence[str]
    ) -> tuple[FloatArray, FloatArray]:
        """METEOR of some of the texts, whose corpus figure comes later.

        Args:
            references: N reference reports, one line each.
            hypotheses: N generated reports, one line each.

        Returns:
            METEOR's counts pooled over these reports, shape (23,), and one value per report, shape (N,).

        Raises:
            RuntimeError: as `score`.
        """
        counts = self._answers(references, hypotheses)
        self._write(" ||| ".join(["EVAL", *counts]))
        per_report = [float(self._read()) for _ in counts]
        self._read()  # the figure of these alone
        return addable(_numbers(counts)).sum(axis=0), np.array(per_report, np.float64)

    def counts(self, references: Sequence[str], hypotheses: Sequence[str]) -> FloatArray:
        """The program's counts of each pair, of which `radrl.evaluation.meteor` makes figures.

        Args:
            references: N reference reports, one line each.
            hypotheses: N generated reports, one line each.

        Returns:
            Counts, shape (N, 23).

        Raises:
            RuntimeError: as `score`.
        """
        return _numbers(self._answers(references, hypotheses))

    def corpus(self, counts: FloatArray) -> float:
        """The corpus figure.

        Args:
            counts: METEOR's counts pooled over all reports, shape (23,); those of parts add up.

        Returns:
            METEOR of the pooled counts.

        Raises:
            RuntimeError: as `score`.
        """
        self._write(f"EVAL ||| {' '.join(map(str, counts.tolist()))}")
        self._read()  # the same, as of a single report
        return float(self._read())

    def _answers(self, references: Sequence[str], hypotheses: Sequence[str]) -> list[str]:
        """What the program says of each pair, its counts as text."""
        found = []
        for reference, hypothesis in zip(references, hypotheses, strict=True):
            self._write(f"SCORE ||| {plain(reference)} ||| {plain(hypothesis)}")
            found.append(self._read())
        return found

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failure("ended early") from None

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().decode().strip()
        if not line or line.startswith("Error"):
            raise self._failure(f"answered {line!r}")
        return line

    def _failure(self, what: str) -> RuntimeError:
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip()
        return RuntimeError(f"METEOR {what}; Java said: {said[:500] or 'nothing'} (a larger heap may help)")


def _numbers(counts: Sequence[str]) -> FloatArray:
    return np.array([one.split() for one in counts], np.float64)


def _jar() -> Path:
    spec = find_spec("pycocoevalcap")
    folders = spec.submodule_search_locations if spec else None
    return Path(next(iter(folders)) if folders else "") / "meteor" / "meteor-1.5.jar"
