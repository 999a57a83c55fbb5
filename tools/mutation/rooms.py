"""The rooms that are mutated: `rooms.toml`."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path

from mutation.sites import modules_of


class RoomError(ValueError):
    """A room that is not there, or a list of rooms that cannot be read."""


@dataclass(frozen=True)
class Room:
    """A package and the tests that are asked about it.

    Args:
        name: its own.
        root: the project's folder.
        source: where packages are imported from, from the root.
        folder: the package's, from the root.
        tests: files, folders and single tests of a file, from the root.
    """

    name: str
    root: Path
    source: str
    folder: str
    tests: tuple[str, ...]

    @property
    def files(self) -> dict[str, str]:
        """Absolute path of every module to its path from the root."""
        found = modules_of(self.root / self.folder)
        return {str(file): file.relative_to(self.root).as_posix() for file in found}

    def module(self, file: str) -> str:
        """The name under which a file of the room is imported."""
        return Path(file).relative_to(self.source).with_suffix("").as_posix().replace("/", ".")

    def asked(self) -> dict[str, list[str]]:
        """By file of tests what pytest is asked for: the file, or some of its tests."""
        found: dict[str, list[str]] = {}
        for test in self.tests:
            path = self.root / test.partition("::")[0]
            for file in sorted(path.rglob("test_*.py")) if path.is_dir() else [path]:
                name = file.relative_to(self.root).as_posix()
                found.setdefault(name, []).append(test if "::" in test else name)
        return found

    def digests_of_tests(self) -> dict[str, str]:
        """By file of tests a digest of it, of the conftests above it, and of what is asked for."""
        found = {}
        for name, asked in self.asked().items():
            file = self.root / name
            above = [one for folder in file.parents for one in folder.glob("conftest.py")]
            inside = [one for one in above if one.is_relative_to(self.root)]
            found[name] = digest(file, *inside) + digest_of(" ".join(asked))
        return found


@dataclass(frozen=True)
class Rooms:
    """All rooms, and what is imported once for all their tests."""

    rooms: dict[str, Room]
    source: Path
    first: str
    libraries: tuple[str, ...]


def read(file: Path, root: Path) -> Rooms:
    """Read a list of rooms.

    Args:
        file: of the form of `rooms.toml`.
        root: the project's folder.

    Raises:
        RoomError: naming the file and what it lacks.
    """
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
        rooms = {
            name: Room(name, root, values["source"], own["folder"], tuple(own["tests"]))
            for name, own in values["rooms"].items()
        }
        found = Rooms(
            rooms, root / values["source"], values.get("first", ""), tuple(values.get("libraries", ()))
        )
    except (OSError, KeyError, tomllib.TOMLDecodeError) as error:
        raise RoomError(f"{file}: {error!r}; write it as tools/mutation/rooms.toml is") from error
    for room in found.rooms.values():
        for path in (room.folder, *room.tests):
            if not (root / path.partition("::")[0]).exists():
                raise RoomError(f"{file}: {path} of room {room.name} is not in {root}")
    return found


def digest(*files: Path) -> str:
    """Of the bytes and names of files."""
    total = hashlib.sha256()
    for file in files:
        total.update(f"{file.name}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()[:16]


def digest_of(text: str) -> str:
    """Of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
