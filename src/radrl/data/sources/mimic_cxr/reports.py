"""The report texts of MIMIC-CXR, out of a folder or the zip file they are shipped in, cut into sections.

MIT-LCP's `section_parser.py` and `create_section_files.py`, whose sections CXRMate and ViLMedic use, cut at
capital headers and keep the last section of each name. This reader differs:

- page breaks, wet reads and addenda are taken out first; an addendum is read only where nothing else speaks;
- headers count in any case and without a colon when they are the usual words, also within a line when they
  are FINDINGS or IMPRESSION in capitals; misspelt ones are told by likeness, not by a list
  (`NDICATION` is an indication there too);
- several sections of one name are joined in their order, the same text once;
- unknown capital headers inside a section (`LUNGS:`) stay text of it instead of ending it;
- FINDINGS AND IMPRESSION is findings, so that a target of both sections holds it once;
- a section that only points at another one (`As above.`) or holds no letter (`___`) is absent;
- paragraphs without a header that stand before the impression are findings where no FINDINGS header says
  otherwise, even when there is an impression; there only where both are missing;
- no study is treated by its number, and no other section (comparison, ...) ever stands in for an impression.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Final, Literal, Protocol

from radrl.data.archives import DamagedMember, ZipMembers
from radrl.data.quarantine import Refused
from radrl.data.sources.mimic_cxr.tables import study_path
from radrl.data.tables import SourceError

Kind = Literal[
    "findings", "impression", "indication", "view", "unheaded", "context", "closing", "aside", "unknown"
]

_PAGE: Final = re.compile(r"\(Over\)(?:(?!\(Over\)).){0,400}?\(Cont\.?\)|\((?:Over|Cont\.?)\)", re.S | re.I)
_TITLE: Final = re.compile(r"^[ \t*]*(FINAL REPORT|(?:FINAL )?ADDENDUM)[ \t*]*$", re.M)
_INLINE: Final = re.compile(
    r"(?<=[a-z.!?;:)])[ \t]+(?=(?:FINDINGS? (?:AND|&) IMPRESSION|FINDINGS?|IMPRESSION|CONCLUSION)[ \t]*:)"
)
_RULE: Final = re.compile(r"[_=*-]{10,}")
_HEADER: Final = re.compile(r"(.{1,90}?)[ \t]*:(?=[ \t]|$)(.*)")
_USUAL: Final = re.compile(r"([A-Za-z][A-Za-z ()/&]{2,39}?)[ \t]*(?::|[.-]+(?=[ \t]|$)|$)(.*)")
_LETTER: Final = re.compile(r"[^\W\d_]")

_USUAL_NAMES: Final[dict[str, Kind]] = {
    **dict.fromkeys(("findings", "finding", "findings and impression", "findings impression"), "findings"),
    **dict.fromkeys(("impression", "impressions", "conclusion", "conclusions"), "impression"),
    **dict.fromkeys(("indication", "history", "clinical history", "clinical indication"), "indication"),
    **dict.fromkeys(("comparison", "comparisons", "technique", "examination", "exam"), "context"),
    **dict.fromkeys(("reason for exam", "reason for examination"), "indication"),
    "type of examination": "context",
    **dict.fromkeys(("recommendation", "recommendations", "recommendation s", "notification"), "closing"),
    **dict.fromkeys(("wet read", "wetread", "addendum"), "aside"),
}
"""Headers in any case, with or without a colon."""

_PATTERNS: Final[tuple[tuple[Kind, re.Pattern[str]], ...]] = (
    ("aside", re.compile(r"wet ?read|addend|preliminary|provisional|\bpfi\b")),
    ("indication", re.compile(r"^clinical\b|\bfor (?:the )?(?:exam|study)")),
    ("findings", re.compile(r"finding")),
    ("impression", re.compile(r"impression|conclusion")),
    ("closing", re.compile(r"notif|recommend")),
    ("indication", re.compile(r"histor|indication|reason")),
    ("context", re.compile(r"comparison|techni|reference|dose|^date|^time")),
    ("context", re.compile(r"^(?:type of )?(?:exam|examination|study|procedure)s?\b")),
    (
        "view",
        re.compile(r"chest|portable|upright|frontal|lateral|\b(?:views?|ribs?)\b|radiograph|^[ap][ap]\b"),
    ),
)
"""Headers in capitals, the first that fits."""

_LIKE: Final = [name for name in _USUAL_NAMES if " " not in name and len(name) > 6]
_SHORT: Final = ("indication", "context", "unknown")
"""Sections of one paragraph."""
_ORGAN: Final = re.compile(
    r"lung|pleura|heart|cardi|mediastin|hil[ua]|bone|osseous|skelet|soft tissue|abdomen|diaphragm|airway|"
    r"tube|line|device|catheter"
)
_POINTED: Final = frozenset(("above", "below", "findings", "finding", "impression", "ditto"))
_POINTER: Final = _POINTED | {
    *("please", "see", "as", "refer", "to", "the", "per", "in", "of", "same", "report", "section", "body"),
    *("described", "noted", "stated", "detailed", "discussed", "mentioned", "outlined"),
}

_log = logging.getLogger(__name__)
ZIP: Final = "mimic-cxr-reports.zip"
_UNPACKED: Final = "mimic-cxr-reports"
_MEMBER: Final = re.compile(r"(.*?)p[0-9]{2}/p[0-9]{8}/s[0-9]{8}\.txt")
_MOST_BYTES: Final = 1 << 20  # the longest report has some kilobytes
_LOOKED_AT: Final = 200  # patients whose folders tell whether there are reports


@dataclass(frozen=True, slots=True)
class Sections:
    """What a report says: each section with single blanks, a line a paragraph, or nothing."""

    findings: str | None
    impression: str | None
    indication: str | None = None


@dataclass(slots=True)
class _Block:
    kind: Kind
    paragraphs: list[list[str]] = field(default_factory=list)
    open: bool = False  # whether the last paragraph goes on with the next line

    def add(self, line: str, *, apart: bool = False) -> None:
        if line:
            if self.open and not apart:
                self.paragraphs[-1].append(line)
            else:
                self.paragraphs.append([line])
            self.open = True

    def texts(self) -> list[str]:
        return [" ".join(" ".join(lines).split()) for lines in self.paragraphs]


def read_sections(text: str, *, unheaded_findings: bool = True) -> Sections:
    r"""Read the two sections a policy may learn to write, and why the study was asked for.

    Args:
        text: a report as its file holds it.
        unheaded_findings: take paragraphs without a header as findings where there is no FINDINGS header.

    Returns:
        The sections; nothing but words of the text, in its order.

    Example:
        >>> read_sections("FINAL REPORT\n FINDINGS: Clear lungs.\n\n IMPRESSION: As above.")
        Sections(findings='Clear lungs.', impression=None, indication=None)
    """
    report, addenda = _parts(text.replace("\r\n", "\n").replace("\r", "\n"))
    sections = _sections(_blocks(report), unheaded_findings)
    if sections.findings is sections.impression is None:
        return _sections(_blocks(addenda), unheaded_findings)
    return sections


def _parts(text: str) -> tuple[str, str]:
    """The report itself and its addenda; what stands before FINAL REPORT belongs to neither."""
    pieces = _TITLE.split(_PAGE.sub("\n", text))
    titled = list(zip(pieces[1::2], pieces[2::2], strict=True))
    reports = [body for title, body in titled if title == "FINAL REPORT"]
    addenda = [body for title, body in titled if title != "FINAL REPORT"]
    return "\n\n".join(reports or pieces[:1]), "\n\n".join(addenda)


def _blocks(text: str) -> list[_Block]:
    """Cut a text at its headers, and its context sections after their first paragraph."""
    block = _Block("unheaded")
    blocks = [block]
    for raw in _INLINE.sub("\n", text).split("\n"):
        line = raw.strip()
        if not line or _RULE.fullmatch(line):
            block.open = False
            continue
        kind, rest = _header(line)
        if kind is not None and _continues(kind, line, block):
            block.add(line, apart=True)
        elif kind is not None:
            block = _Block("unheaded" if kind == "unknown" and _organ(line) else kind)
            blocks.append(block)
            block.add(line if kind == "unknown" else rest)
        elif block.kind in _SHORT and block.paragraphs and not block.open:
            block = _Block("unheaded")
            blocks.append(block)
            block.add(line)
        else:
            block.add(line)
    return blocks


def _continues(kind: Kind, line: str, block: _Block) -> bool:
    """Whether a header is only a word of emphasis inside the section it stands in."""
    if kind == "unknown":
        inside = bool(block.paragraphs) or block.kind != "unheaded"
        return inside and block.kind not in _SHORT
    if kind != "view":
        return False
    return block.kind == "findings" or (block.kind == "impression" and not block.paragraphs)


def _organ(line: str) -> bool:
    return _ORGAN.search(line.split(":")[0].lower()) is not None


def _header(line: str) -> tuple[Kind | None, str]:
    """The kind of header a line begins with, and the rest of the line; nothing where it begins with none."""
    if (usual := _USUAL.fullmatch(line)) and (kind := _usual(usual[1], line[usual.end(1) :].lstrip()[:1])):
        return kind, usual[2].strip()
    header = _HEADER.fullmatch(line)
    if header and header[1] == header[1].upper() and len(_LETTER.findall(header[1])) > 1:
        return _kind(header[1]), header[2].strip()
    return None, line


def _usual(name: str, mark: str) -> Kind | None:
    """The kind of a usual name; only capitals may do without a colon."""
    return _USUAL_NAMES.get(_plain(name)) if mark == ":" or name == name.upper() else None


def _plain(name: str) -> str:
    return " ".join(re.findall(r"[a-z]+", name.lower()))


@lru_cache(maxsize=4096)
def _kind(name: str) -> Kind:
    plain = _plain(name)
    for kind, pattern in _PATTERNS:
        if pattern.search(plain):
            return kind
    close = get_close_matches(plain, _LIKE, n=1, cutoff=0.82)
    return _USUAL_NAMES[close[0]] if close else "unknown"


def _sections(blocks: list[_Block], unheaded_findings: bool) -> Sections:
    impression = _joined(block for block in blocks if block.kind == "impression")
    findings = _joined(block for block in blocks if block.kind == "findings")
    if findings is None:
        findings = _joined(_instead(blocks, unheaded_findings))
    return Sections(findings, impression, _joined(block for block in blocks if block.kind == "indication"))


def _instead(blocks: list[_Block], unheaded_findings: bool) -> Iterator[_Block]:
    """What stands for findings where no header says so."""
    before = True
    for block in blocks:
        before &= block.kind not in ("impression", "closing", "aside")
        if block.kind == "view" or (block.kind == "unheaded" and unheaded_findings and before):
            yield block


def _joined(blocks: Iterable[_Block]) -> str | None:
    texts = dict.fromkeys(
        "\n".join(paragraphs)
        for block in blocks
        if (paragraphs := [text for text in block.texts() if _says(text, block.kind)])
    )
    return "\n".join(texts) or None


def _says(text: str, kind: Kind) -> bool:
    """Whether a paragraph says anything itself: it has letters, is no pointer and no title of the film."""
    if not any(map(str.isalpha, text)):
        return False
    words = re.findall(r"[a-z]+", text.lower())
    if _POINTER.issuperset(words) and not _POINTED.isdisjoint(words):
        return False
    title = kind in ("unheaded", "view") and text == text.upper() and len(words) <= 15 and text[-1] != "."
    return not (title and _kind(text) == "view")


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
