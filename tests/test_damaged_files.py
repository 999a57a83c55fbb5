"""Files of users, damaged in every way that a seed can draw: what each reader makes of them.

Either rows come out, and with those set apart they are all that the file still holds; or one error of ours is
raised, which names the file and what mends it. Never an error of a library, never a wait without end, never a
file half written. A case that fails is named by reader, kind of damage and number, and comes again by
`outcome(READERS[reader], ..., kind, number)`.
"""

from __future__ import annotations

import re
import shutil
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

import click
import pytest
from damaged_readers import READERS, Reader
from time_limits import limited

from radrl.errors import MENDABLE, plain_words
from radrl.reporting import FilmError
from radrl.rexrank.form import FormError

SEED: Final = 20_261_124
SECONDS: Final = 60  # far more than any case takes
QUICK: Final = 8  # cases of each reader
LONG: Final = 100

OURS: Final = (*MENDABLE, FormError, FilmError, click.ClickException)
MEND: Final = re.compile(
    r"\b(fetch|mend|save|unpack|pack|rename|close|take|name|give|set|write|run|remove|indent|put|send|leave)\b"
    r"|did you mean|it has:|there are|expected|should be|valid:|keys:|Field required|writes it"
    r"|is it the right",
    re.IGNORECASE,
)
PLACES: Final = {"a folder in its place": Path.mkdir, "nothing there": lambda path: None}


def damaged(name: str, kind: str, number: int, sound: bytes) -> bytes | None:
    """A reader's file after some damage; nothing where a file is no more."""
    reader = READERS[name]
    if kind == "sound" or kind in PLACES:
        return sound if kind == "sound" else None
    if kind in reader.crafted:
        return reader.crafted[kind]
    return reader.kinds[kind](Random(f"{SEED} {name} {kind} {number}"), sound)


def cases(name: str, count: int) -> Iterator[tuple[str, int]]:
    """Kinds of damage and numbers: the sound file, places, crafted ones, and a count of drawn ones."""
    reader = READERS[name]
    yield "sound", 0
    yield from ((kind, 0) for kind in reader.crafted)
    if not reader.looked:
        yield from ((kind, 0) for kind in PLACES)
    kinds = list(reader.kinds)
    Random(f"{SEED} {name}").shuffle(kinds)
    yield from ((kinds[number % len(kinds)], number) for number in range(count))


def outcome(reader: Reader, folder: Path, file: Path, kind: str, data: bytes | None) -> str:
    """What a reader made of a file: `read`, `said`, or what is wrong with it."""
    if data is not None:
        file.write_bytes(data)
    else:
        file.unlink()
        PLACES[kind](file)
    there = set(folder.rglob("*"))
    try:
        with limited(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("error")
            rows = reader.read(folder, file)
    except OURS as error:
        said = plain_words(error) if isinstance(error, MENDABLE) else str(error)
        if set(folder.rglob("*")) - there:
            return "something was left behind"
        if file.name not in said and str(folder) not in said and "Invalid value for --" not in said:
            return f"the file is not named: {said}"
        return "said" if MEND.search(said) else f"there is no mend: {said}"
    except Exception as error:
        return f"{type(error).__module__}.{type(error).__name__}: {error}"
    held = None if data is None or rows is None else reader.held(data)
    return "read" if held in (None, rows) else f"{rows} rows of {held}"


def tried(name: str, count: int, scratch: Path) -> tuple[Counter[str], list[str]]:
    """How often each outcome was, and the cases in which something is wrong."""
    reader, laid = READERS[name], scratch / "laid"
    laid.mkdir()
    place = reader.lay(laid).relative_to(laid)
    sound = (laid / place).read_bytes()
    counts: Counter[str] = Counter()
    wrong = []
    for kind, number in cases(name, count):
        folder = scratch / "case"
        shutil.copytree(laid, folder)
        found = outcome(reader, folder, folder / place, kind, damaged(name, kind, number, sound))
        shutil.rmtree(folder)
        if found not in ("read", "said"):
            wrong.append(f"{kind}, {number}: {found[:400]}")
        elif kind == "sound" and found != "read":
            wrong.append("the sound file was not read")
        counts[found] += 1
    return counts, wrong


@pytest.mark.parametrize("name", READERS)
def test_damaged_files(name, tmp_path):
    _, wrong = tried(name, QUICK, tmp_path)
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_some_thousand_damaged_files(name, tmp_path):
    _, wrong = tried(name, LONG, tmp_path)
    assert not wrong, "\n".join(wrong)
