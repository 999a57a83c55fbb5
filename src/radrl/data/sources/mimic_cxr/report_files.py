"""The report texts of MIMIC-CXR, out of a folder or out of the zip file they are shipped in."""

from __future__ import annotations

import logging
import re
from itertools import islice
from pathlib import Path
from typing import Final, Protocol

from radrl.data.archives import DamagedMember, ZipMembers
from radrl.data.quarantine import Refused
from radrl.data.sources.mimic_cxr.tables import study_path
from radrl.data.tables import SourceError

_log = logging.getLogger(__name__)

ZIP: Final = "mimic-cxr-reports.zip"
_UNPACKED: Final = "mimic-cxr-reports"
_MEMBER: Final = re.compile(r"(.*?)p[0-9]{2}/p[0-9]{8}/s[0-9]{8}\.txt")
_MOST_BYTES: Final = 1 << 20  # the longest report has some kilobytes
_LOOKED_AT: Final = 200  # patients whose folders tell whether there are reports


class Reports(Protocol):
    """The texts by study."""

    def text(self, subject: int, study: int) -> str:
        """Read one report.

        Raises:
            Refused: `missing_report`, `malformed_report` or `outside_root`.
        """
        ...


def open_reports(path: Path) -> Reports:
    """Find the reports.

    Args:
        path: the zip file, or a folder that holds it, `files` with the texts, or `mimic-cxr-reports/files`.

    Raises:
        SourceError: nothing of these is there, or the zip file is damaged.
    """
    if path.is_file():
        return _Zip(path)
    for base in (path / "files", path / _UNPACKED / "files"):
        if base.is_dir() and _holds_reports(base):
            return _Folder(base)
    if (path / ZIP).is_file():
        return _Zip(path / ZIP)
    raise SourceError(
        f"no report texts in {path}: expected files/p10/p10000032/s50414267.txt and so on, or {ZIP} "
        f"(PhysioNet's mimic-cxr, not mimic-cxr-jpg); set reports to the folder or the zip file"
    )


def _holds_reports(base: Path) -> bool:
    patients = islice(base.glob("p[0-9][0-9]/p[0-9]*"), _LOOKED_AT)
    return any(next(patient.glob("s*.txt"), None) for patient in patients)


class _Folder:
    def __init__(self, base: Path) -> None:
        self._base = base
        self._root = base.resolve()

    def text(self, subject: int, study: int) -> str:
        path = self._base / f"{study_path(subject, study)}.txt"
        try:
            real = path.resolve(strict=True)
            if not real.is_relative_to(self._root):
                raise Refused("outside_root", f"the link {path.name} leads out of the folder of reports")
            if not real.is_file():
                raise Refused("missing_report", f"{path.name} is not a regular file")
            with real.open("rb") as stream:
                return decode(stream.read(_MOST_BYTES + 1), path.name)
        except FileNotFoundError as error:
            raise Refused("missing_report", f"no {path.name} in the patient's folder of reports") from error
        except (OSError, RuntimeError) as error:  # no rights, a damaged disk, links in a circle
            detail = f"{path.name} cannot be read ({type(error).__name__})"
            raise Refused("malformed_report", detail) from error


class _Zip:
    def __init__(self, path: Path) -> None:
        self._members = ZipMembers(path)
        matches = (_MEMBER.fullmatch(name) for name in self._members.names)
        if (match := next(filter(None, matches), None)) is None:
            raise SourceError(f"{path} holds no files/p10/p10000032/s50414267.txt and so on; fetch {ZIP}")
        self._prefix = match[1]

    def text(self, subject: int, study: int) -> str:
        member = f"{self._prefix}{study_path(subject, study)}.txt"
        try:
            data = self._members.read(member, _MOST_BYTES + 1)
        except KeyError as error:
            raise Refused("missing_report", f"no {member} in the zip file") from error
        except DamagedMember as error:
            detail = f"{member} is damaged in the zip file ({error}); fetch the zip file again"
            raise Refused("malformed_report", detail) from error
        return decode(data, f"s{study}.txt")


def decode(data: bytes, name: str) -> str:
    """Read a report's bytes as UTF-8, or as Latin-1 where they are none.

    Raises:
        Refused: `malformed_report`: no text, or far too long for a report.
    """
    if len(data) > _MOST_BYTES:
        raise Refused("malformed_report", f"{name} is longer than {_MOST_BYTES} bytes, which no report is")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise Refused("malformed_report", f"{name} is UTF-16 text; save it as UTF-8")
    if b"\0" in data:
        raise Refused("malformed_report", f"{name} holds a NUL byte, so it is no text; fetch it again")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        _log.warning("%s is no UTF-8 and is read as Latin-1", name)
        return data.decode("latin-1")
