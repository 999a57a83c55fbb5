"""The reports as NLM publishes them: one XML file each, in a folder or in the archive."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from radrl.data.archives import tar_entries
from radrl.data.images import locate
from radrl.data.quarantine import Reason, Refusal, Refused
from radrl.data.sources.iu_xray.study import Removed, Study, section, study_id
from radrl.data.tables import SourceError

ARCHIVES: Final = (".tgz", ".tar.gz", ".tar")
_LARGEST: Final = 1 << 20  # the published ones have at most some 30 kB


def check_reports(path: Path) -> None:
    """Refuse a folder or an archive without reports, or a damaged one, by walking through it once.

    Raises:
        SourceError: naming it and the mend.
    """
    names = (
        [file.name for file in _files(path)]
        if path.is_dir()
        else [entry.name for entry in tar_entries(path, largest=0)]
    )
    if not any(map(_is_report, names)):
        raise SourceError(
            f"{path} holds no reports; expected XML files as in NLMCXR_reports.tgz (1.xml, ...)"
        )


def read_folder(folder: Path, root: Path, *, xxxx: Removed) -> Iterator[Study | Refusal]:
    """Read the XML files under a folder, by number.

    Args:
        folder: searched to its depth.
        root: the folder that no link may leave.
        xxxx: `radrl.data.sources.iu_xray.study.section`.
    """
    for path in _files(folder):
        key = path.relative_to(folder.parent).as_posix()
        try:
            real = locate(path, root)
            yield _too_large(key, real.stat().st_size) or parse_report(real.read_bytes(), key, xxxx=xxxx)
        except Refused as refused:
            reason: Reason = "outside_root" if refused.reason == "outside_root" else "missing_report"
            yield Refusal(key, reason, refused.detail)
        except OSError as error:
            yield Refusal(key, "malformed_report", f"cannot be read ({type(error).__name__})")


def read_archive(path: Path, *, xxxx: Removed) -> Iterator[Study | Refusal]:
    """Read the XML files of an archive, in its order, without unpacking it.

    Raises:
        SourceError: the archive is damaged.
    """
    for entry in tar_entries(path, largest=_LARGEST):
        if not _is_report(entry.name):
            continue
        if large := _too_large(entry.name, entry.size):
            yield large
        elif entry.content is None:
            yield Refusal(entry.name, "missing_report", "a link in the archive, not a file")
        else:
            yield parse_report(entry.content, entry.name, xxxx=xxxx)


def parse_report(content: bytes, key: str, *, xxxx: Removed) -> Study | Refusal:
    """Read one report: its id, FINDINGS, IMPRESSION, the indexers' tags and the names of its films.

    Sections of one label are joined. COMPARISON and INDICATION are no part of the report.

    Args:
        content: the file.
        key: where it stands.
        xxxx: `radrl.data.sources.iu_xray.study.section`.
    """
    try:
        tree = ElementTree.fromstring(content)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        return Refusal(key, "malformed_report", f"no XML: {type(error).__name__}")
    given = tree.find(".//uId")
    study = study_id(given.get("id", "") if given is not None else "")
    if study is None:
        return Refusal(key, "missing_id", "no <uId id='CXR...'> in the file")
    texts: dict[str, list[str]] = {}
    for element in tree.iter("AbstractText"):
        texts.setdefault(element.get("Label", "").strip().upper(), []).append(
            "".join(element.itertext()).strip()
        )
    return Study(
        key=key,
        study_id=study,
        findings=section("\n".join(texts.get("FINDINGS", ())), xxxx=xxxx),
        impression=section("\n".join(texts.get("IMPRESSION", ())), xxxx=xxxx),
        tags=tuple(tag for major in tree.iter("major") if (tag := (major.text or "").strip())),
        films=tuple(film for image in tree.iter("parentImage") if (film := image.get("id", "").strip())),
    )


def _files(folder: Path) -> Iterator[Path]:
    yield from sorted((path for path in folder.rglob("*") if _is_report(path.name)), key=_by_number)


def _is_report(name: str) -> bool:
    """Whether it is an XML file and none of the `._1.xml` that some systems put beside it."""
    last = name.rsplit("/", 1)[-1]
    return last.casefold().endswith(".xml") and not last.startswith(".")


def _by_number(path: Path) -> tuple[str, int, str]:
    digits = re.findall(r"\d+", path.stem)
    return path.parent.as_posix(), int(digits[-1]) if digits else 0, path.name


def _too_large(key: str, size: int) -> Refusal | None:
    if size <= _LARGEST:
        return None
    return Refusal(key, "malformed_report", f"{size} bytes; a report has at most {_LARGEST}")
