"""METEOR's paraphrases cut down to those that some references can match.

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
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from radrl.storage.temporary import temporary_folder

MOST: Final = 5000
"""Distinct references for which a table is cut: with more, its reading is no longer what takes the time."""

_KEPT: Final = 16
"""Cut tables that stay, the oldest dropped first; one is 1 MB or less."""

_FORSAKEN: Final = 3600.0
"""Seconds after which nobody writes to a table's own folder any more: to cut one takes ten."""


def plain(text: str) -> str:
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
            self._texts.update(dict.fromkeys(map(plain, references)))
            self._fit = len(self._texts) <= MOST and all(map(str.isascii, self._texts))
        if not self._fit:
            self._texts = {}

    def all(self) -> list[str]:
        """The references in a fixed order; none where the whole table is wanted."""
        return sorted(self._texts)


def kept() -> Path | None:
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
