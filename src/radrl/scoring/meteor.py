"""METEOR 1.5 by the Java program that pycocoevalcap carries.

pycocoevalcap's own wrapper fixes a heap of 2 GB, never reads Java's error stream (a full pipe stops both
sides) and leaves the process to the garbage collector. This one speaks the same protocol with the same
options, hence the same figures, and ends its process whatever happens. With the references known beforehand
it reads the paraphrases of these alone, which gives the same figures too.

Reading its table of five million paraphrases takes METEOR longer than scoring a test split. Its authors cut
the table with `FilterParaphrase`, which the jar carries, to the phrases that the references hold: a match has
one side in the reference, whatever was generated. Matches, their order and hence all figures stay the same.
Arms of a study, and its comparison, have the same references, so the cut table is kept for the next one. It
holds phrases of the references, so it lies in the project they belong to; elsewhere it ends with the scoring.

The program drops punctuation before it looks phrases up. The table holds no ASCII punctuation that METEOR
could match, so this loses nothing of ASCII references; others take the whole table.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import IO, Final

import numpy as np

from radrl.evaluation import FloatArray
from radrl.evaluation.meteor import addable
from radrl.storage.whole_files import temporary_folder

MOST: Final = 5000
"""Distinct references for which a table is cut: with more, its reading is no longer what takes the time."""

_KEPT: Final = 16
"""Cut tables that stay, the oldest dropped first; one is 1 MB or less."""

_FORSAKEN: Final = 3600.0
"""Seconds after which nobody writes to a table's own folder any more: to cut one takes ten."""

HEAP: Final = "1g"
"""The paraphrase table needs about 500 MB; 256 MB runs out of memory."""
_SHORT: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""For a few thousand pairs, which are scored before a second compilation and more collectors pay."""
_GRACE_SECONDS: Final = 10.0


def plain_line(text: str) -> str:
    """A text as METEOR gets it: the protocol's separator and line feeds would shift every later answer."""
    return " ".join(text.replace("|||", " ").split())


class Texts:
    """The distinct references of a scoring, as long as a table can be cut to them."""

    def __init__(self) -> None:
        self._texts: dict[str, None] = {}
        self._fit = True

    def add(self, references: Iterable[str]) -> None:
        """Take in references.

        Args:
            references: prepared.
        """
        if self._fit:
            self._texts.update(dict.fromkeys(map(plain_line, references)))
            self._fit = len(self._texts) <= MOST and all(map(str.isascii, self._texts))
        if not self._fit:
            self._texts = {}

    def all(self) -> list[str]:
        """The references in a fixed order; none where the whole table is wanted."""
        return sorted(self._texts)


def table_folder() -> Path | None:
    """Where stages keep tables: in the project they run in, which git does not see; nothing elsewhere."""
    in_project = Path("dvc.yaml").is_file() and Path("params.yaml").is_file()
    return Path("build", "meteor").absolute() if in_project else None


@contextmanager
def cut(jar: Path, references: Sequence[str], kept: Path | None = None) -> Iterator[Path | None]:
    """The table for these references, from an earlier scoring or cut now.

    Args:
        jar: METEOR's, with its data folder beside it.
        references: of `Texts.all`.
        kept: a folder of cut tables; made when it is not there. Nothing for a table that ends with the block.

    Yields:
        The table's path; nothing where the whole one is to be read, since there are no references or no
        place to write.
    """
    whole = jar.parent / "data" / "paraphrase-en.gz"
    if not references or not whole.is_file():
        yield None
        return
    digest = hashlib.sha256("\n".join([str(whole.stat().st_size), *references]).encode()).hexdigest()
    with temporary_folder() as own:
        yield _found(jar, whole, references, kept or own, f"{digest[:32]}.gz")


def _found(jar: Path, whole: Path, references: Sequence[str], folder: Path, name: str) -> Path | None:
    path = folder / name
    if path.is_file():
        return path
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(dir=folder) as work:
            _filter(jar, whole, references, Path(work)).replace(path)
        _drop_oldest(folder)
    except OSError:
        return None
    return path


def _filter(jar: Path, whole: Path, references: Sequence[str], work: Path) -> Path:
    """Run METEOR's program; references reach it by a file without a name, of which a kill leaves nothing."""
    found = work / "table.gz"
    command = ["java", "-XX:+UseSerialGC", "-cp", str(jar), "FilterParaphrase", str(whole), str(found)]
    with tempfile.TemporaryFile(dir=work) as texts:
        texts.write("".join(f"{text}\n" for text in references).encode("ascii"))
        texts.seek(0)
        number = texts.fileno()
        result = subprocess.run(
            [*command, f"/dev/fd/{number}"], pass_fds=[number], capture_output=True, check=False
        )
    if result.returncode or not found.is_file():
        said = result.stderr.decode(errors="replace").strip()[:500]
        raise RuntimeError(f"METEOR's FilterParaphrase ended with {result.returncode}: {said or 'nothing'}")
    return found


def _drop_oldest(folder: Path) -> None:
    """Drop tables, and what a scoring that was killed has left half-written."""
    tables = sorted(folder.glob("*.gz"), key=lambda path: path.stat().st_mtime)
    for path in tables[:-_KEPT]:
        path.unlink(missing_ok=True)
    for path in folder.iterdir():
        if path.is_dir() and path.stat().st_mtime < time.time() - _FORSAKEN:
            shutil.rmtree(path, ignore_errors=True)


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
        references: all references that will be scored, of `radrl.scoring.meteor.Texts.all`; nothing to
            have METEOR read all its paraphrases.
    """

    def __init__(self, *, references: Sequence[str] = ()) -> None:
        self._references = references
        self._cut = ExitStack()

    def __enter__(self) -> MeteorProcess:
        table = self._cut.enter_context(cut(_jar(), self._references, table_folder()))
        command = [
            "java", *(_SHORT if table else ()), "-Dfile.encoding=UTF-8", f"-Xmx{HEAP}",
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
            RuntimeError: when the process ends early or answers with an error.
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
            RuntimeError: as `score_part`.
        """
        return _numbers(self._answers(references, hypotheses))

    def corpus(self, counts: FloatArray) -> float:
        """The corpus figure.

        Args:
            counts: METEOR's counts pooled over all reports, shape (23,); those of parts add up.

        Returns:
            METEOR of the pooled counts.

        Raises:
            RuntimeError: as `score_part`.
        """
        self._write(f"EVAL ||| {' '.join(map(str, counts.tolist()))}")
        self._read()  # the same, as of a single report
        return float(self._read())

    def _answers(self, references: Sequence[str], hypotheses: Sequence[str]) -> list[str]:
        """What the program says of each pair, its counts as text."""
        found = []
        for reference, hypothesis in zip(references, hypotheses, strict=True):
            self._write(f"SCORE ||| {plain_line(reference)} ||| {plain_line(hypothesis)}")
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
        return RuntimeError(
            f"METEOR {what}; Java said: {said[:500] or 'nothing'} (its memory: HEAP in radrl.scoring.meteor)"
        )


def _numbers(counts: Sequence[str]) -> FloatArray:
    return np.array([one.split() for one in counts], np.float64)


def _jar() -> Path:
    spec = find_spec("pycocoevalcap")
    folders = spec.submodule_search_locations if spec else None
    return Path(next(iter(folders)) if folders else "") / "meteor" / "meteor-1.5.jar"
