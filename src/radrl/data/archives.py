"""Archives read from front to back without unpacking them, and members of zip files by name.

The standard library raises what a damaged header leads it to, of some dozen classes. Here each archive ends
in one error that names it, and what cannot be reached behind damage is never passed over: a tar archive must
come to its mark of the end.
"""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from radrl.data.tables import SourceError

_PART: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of an archive.

    Args:
        name: as the archive has it.
        size: in bytes, as the archive says.
        content: nothing where it is a link, a folder or a device, or larger than asked for.
    """

    name: str
    size: int
    content: bytes | None


def tar_entries(path: Path, *, largest: int) -> Iterator[Entry]:
    """Read a tar archive, packed or not, in its order; nothing is written, so a name may lead anywhere.

    Args:
        path: the archive.
        largest: bytes of an entry up to which it is read.

    Raises:
        SourceError: it is no tar archive, damaged, or cut off, also where that shows on the way only.
    """
    with _told(path, "tar archive"):
        archive = tarfile.open(path)  # noqa: SIM115  (closed below, outside of what is told)
    with archive:
        while entry := _next(archive, path, largest):
            yield entry
        with _told(path, "tar archive"):
            _require_end(archive)


def _next(archive: tarfile.TarFile, path: Path, largest: int) -> Entry | None:
    with _told(path, "tar archive"):
        if (member := archive.next()) is None:
            return None
        whole = member.isreg() and member.size <= largest
        stream = archive.extractfile(member) if whole else None
        content = stream.read() if stream else None
        if content is not None and len(content) != member.size:
            raise tarfile.ReadError(f"{member.name!r} is cut off")
        return Entry(member.name, member.size, content)


def _require_end(archive: tarfile.TarFile) -> None:
    """Zeros end an archive, and nothing stands behind; tarfile takes a damaged header for the end too."""
    stream = archive.fileobj
    assert stream is not None
    stream.seek(archive.offset)
    begins = stream.read(tarfile.BLOCKSIZE)
    if len(begins) < tarfile.BLOCKSIZE or begins.count(0) < len(begins):
        raise tarfile.ReadError(f"no header and no end at byte {archive.offset}")
    while part := stream.read(_PART):
        if part.count(0) < len(part):
            raise tarfile.ReadError(f"something behind its end at byte {archive.offset}")


class ZipMembers:
    """A zip file's members by name.

    Args:
        path: the file.

    Attributes:
        names: of all members, in the file's order.

    Raises:
        SourceError: it is no zip file, damaged, or of a kind that is not read.
    """

    def __init__(self, path: Path) -> None:
        with _told(path, "zip file"):
            self._file = zipfile.ZipFile(path)
            self.names = self._file.namelist()

    def read(self, name: str, most: int) -> bytes:
        """Read a member.

        Args:
            name: of the member.
            most: bytes that are unpacked of it, whatever size it claims to have.

        Raises:
            KeyError: there is none of that name.
            DamagedMember: it is damaged, encrypted, or packed in a way that is not read.
        """
        member = self._file.getinfo(name)
        try:
            with self._file.open(member) as stream:
                return stream.read(most)
        except MemoryError:
            raise
        except Exception as error:  # of zipfile, zlib, bz2, lzma and struct
            raise DamagedMember(type(error).__name__) from error


class DamagedMember(ValueError):
    """One member of an archive cannot be read; the message is the class of the error that said so."""


@contextmanager
def _told(path: Path, kind: str) -> Iterator[None]:
    try:
        yield
    except MemoryError:
        raise
    except NotImplementedError as error:  # zipfile's word for a release of the format after its own
        raise SourceError(f"{path} is a {kind} that is not read ({error}); pack it anew") from error
    except Exception as error:
        raise SourceError(f"{path} is no {kind}, or damaged ({error}); fetch it again") from error
