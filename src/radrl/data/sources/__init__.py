"""Where studies come from: what every source gives, and the one that params.yaml names, opened.

A source reads and never judges.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from radrl.data.quarantine import Refusal
from radrl.data.study import AWAY, Record, canonical_split
from radrl.data.tables import SourceError
from radrl.parts.find import find


@dataclass(frozen=True, slots=True)
class Source:
    """A source that was opened.

    Args:
        records: a record a film, those of one study one after the other, or the refusal of what cannot be
            read; the same ones in the same order each time the source is opened.
        films: how many records there will be, for the progress bar; nothing where only reading would tell.
        root: the folder that the films' paths may not leave; nothing for a source that draws.
        away_root: the same of films of the split `away`, where they are another source's.
    """

    records: Iterator[Record | Refusal]
    films: int | None = None
    root: Path | None = None
    away_root: Path | None = None


def is_drawn(settings: Mapping[str, Any]) -> bool:
    """Whether a source's films are phantoms, so that no number found on them says anything about patients.

    Args:
        settings: the section `ingest` of params.yaml; a source of real reports may have films drawn to them.
    """
    name = settings["source"]
    own = settings.get(name) or {}
    said = getattr(find("source", name, own).object, "drawn", False)
    return bool(said(own) if callable(said) else said)


def path_or_none(value: str | None) -> Path | None:
    """A path of params.yaml, which may be null."""
    return None if value is None else Path(value)


def open_source(settings: Mapping[str, Any], *, seed: int) -> Source:
    """Open the source, and behind it that of another hospital's test films, where `ingest.away` names one.

    Args:
        settings: the section `ingest` of params.yaml.
        seed: of sources that draw.

    Returns:
        The source; the other hospital's films have the split `away` and studies and patients of their own.

    Raises:
        SourceError: its files are not as expected; the message names them and the section to mend.
        radrl.parts.find.PartError: for a source that cannot be had.
    """
    home = _opened(settings, seed=seed)
    if not (away := settings.get("away")):
        return home
    there = away_settings(settings)
    if is_drawn(there) != is_drawn(settings):
        raise SourceError(
            f"ingest.source is {settings['source']} and ingest.away.source {there['source']}: one has drawn "
            "films, the other patients', and no page could say what its numbers are of; name two of one kind"
        )
    other = _opened(there, seed=seed)
    records = chain(home.records, _as_away(other.records, away["split"], there["source"]))
    return Source(records, root=home.root, away_root=other.root)


def away_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The section `ingest` as the other hospital's source is opened by it.

    Args:
        settings: the section, with `away`.

    Returns:
        The same with the other source chosen, and `away.set` laid over that source's own section.
    """
    away = settings["away"]
    name = away["source"]
    return {**settings, "source": name, name: {**(settings.get(name) or {}), **away["set"]}, "away": None}


def _as_away(records: Iterator[Record | Refusal], split: str | None, name: str) -> Iterator[Record | Refusal]:
    """A source's records of one split, or all of them, as another hospital's: no name is one of home's.

    Those of its other splits are left out by choice.
    """
    for record in records:
        key, study = f"{AWAY} {record.key}", _away_name(record.study_id)
        if not isinstance(record, Record):
            yield replace(record, key=key, study_id=study)
            continue
        if split is not None and record.split is None:
            raise SourceError(
                f"{record.key} states no split, and ingest.away.split is {split}; null takes all of {name}"
            )
        if split is None or canonical_split(record.split or "") == split:
            patient = _away_name(record.patient_id)
            yield replace(record, key=key, study_id=study, patient_id=patient, split=AWAY)
        else:
            detail = f"{record.split}; ingest.away.split asks for {split}"
            yield Refusal(key, "left_out_split", detail, study)


def _away_name(name: str) -> str:
    return f"{AWAY}-{name}" if name else ""


def _opened(settings: Mapping[str, Any], *, seed: int) -> Source:
    name = settings["source"]
    own = settings.get(name) or {}
    part = find("source", name, own)
    with _mending(name):
        found = part.make(own, seed=seed, image_size=settings.get("image_size"))
    source = found if isinstance(found, Source) else Source(iter(found))
    return replace(source, records=_read(source.records, name))


def _read(records: Iterator[Record | Refusal], name: str) -> Iterator[Record | Refusal]:
    """The records; damage may show on the way only."""
    with _mending(name):
        yield from records


@contextmanager
def _mending(name: str) -> Iterator[None]:
    """Say of what is wrong with a source where params.yaml names its files."""
    try:
        yield
    except SourceError as error:
        raise SourceError(f"{error}\nMend ingest.{name} in params.yaml, or the file.") from None
