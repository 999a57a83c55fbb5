"""The contact sheet of the phantoms: a normal chest and every finding, mild to gross, with its sentence.

Run it with ``python tools/phantom_contact_sheet.py OUT.png --seed 0``. With ``--pool PARAMS.yaml`` it
is of a training pool instead: near copies beside what they are copies of, and films without any finding.
With ``--hospitals STUDY.yaml`` it is of test films as home and as the other hospital of a study has them.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

import numpy as np
import yaml
from phantom_census import section_of
from PIL import Image, ImageDraw

from radrl.data.phantom.film import Drawing, draw_film
from radrl.data.phantom.findings import DRAWN, Case, case_from_labels
from radrl.data.phantom.wording import write_report
from radrl.data.sources.phantom import POOL, read
from radrl.data.study import Record
from radrl.observations import INDEX

_FILM: Final = 160
_CAPTION: Final = 48
_GAP: Final = 4
_SEVERITIES: Final = (0.1, 0.5, 0.9)
_VIEWS: Final = ("frontal", "frontal", "frontal", "lateral")
_ROWS_SIDE_BY_SIDE: Final = 2
_SHOWN: Final = 8  # films in a row of a pool's sheet
_SEARCHED: Final = 100  # studies of the pool
_POOL_CAPTION: Final = 116


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw the sheet to a file."""
    parser = argparse.ArgumentParser(description="Draw a contact sheet of phantom films.")
    parser.add_argument("out", type=Path, help="PNG file to write")
    parser.add_argument("--seed", type=int, default=0, help="of the patients (default 0)")
    parser.add_argument("--pool", type=Path, help="params file whose training pool is drawn instead")
    parser.add_argument("--hospitals", type=Path, help="study file with ingest.away, whose films are drawn")
    options = parser.parse_args(arguments)
    if options.hospitals:
        sheet = hospitals_sheet(options.seed, options.hospitals)
    else:
        sheet = (
            pool_sheet(options.seed, section_of(options.pool))
            if options.pool
            else contact_sheet(options.seed)
        )
    sheet.save(options.out, optimize=True)


def contact_sheet(seed: int) -> Image.Image:
    """Draw one row an observation: mild, moderate, gross, and the lateral film of the last.

    Args:
        seed: of the patients.

    Returns:
        The sheet.
    """
    names = ("No Finding", *DRAWN)
    rows = [_row(name, np.random.default_rng([seed, INDEX[name]])) for name in names]
    width, height = (_ROWS_SIDE_BY_SIDE * size for size in rows[0].size)
    sheet = Image.new("L", (width, height // _ROWS_SIDE_BY_SIDE * (len(rows) // _ROWS_SIDE_BY_SIDE)), 255)
    for number, row in enumerate(rows):
        column, line = number % _ROWS_SIDE_BY_SIDE, number // _ROWS_SIDE_BY_SIDE
        sheet.paste(row, (column * row.width, line * row.height))
    return sheet


def pool_sheet(seed: int, section: Mapping[str, Any]) -> Image.Image:
    """Draw a row of near copies, each behind its original, and a row of films without any finding.

    Args:
        seed: of the studies.
        section: `ingest.phantom`; its numbers of studies and its lateral films are left aside.

    Returns:
        The sheet, each film above the beginning of its findings.

    Raises:
        ValueError: when the pool has too few of either among its first hundred studies.
    """
    own = {"studies": {POOL: _SEARCHED}, "lateral_share": 0.0, "missing_findings": 0.0}
    records = list(read(seed=seed, image_size=_FILM, **{**section, **own}))
    originals = {_taken(record): record for record in reversed(records)}
    pairs = [(originals[_taken(one)], one) for one in records if originals[_taken(one)] is not one]
    normal = [one for one in originals.values() if not _drawing(one).case.findings][::-1]
    rows = [[one for pair in pairs for one in pair][:_SHOWN], normal[:_SHOWN]]
    if any(len(row) < _SHOWN for row in rows):
        raise ValueError(
            f"{len(pairs)} near copies and {len(normal)} normal films among {_SEARCHED} studies; "
            "raise near_copies or normal_share"
        )
    return _captioned(rows)


def hospitals_sheet(seed: int, study: Path) -> Image.Image:
    """Draw a row of test films as home has them, and below it the same as the other hospital has them.

    Args:
        seed: of the studies.
        study: a study file that lays `ingest.away` over a recipe of drawn films beside it.

    Returns:
        The sheet, each film above the beginning of its findings.
    """
    given = yaml.safe_load(study.read_text())
    home = section_of(study.with_name(given["recipe"]))
    own = {"studies": {"test": _SHOWN}, "lateral_share": 0.0, "missing_findings": 0.0}
    sections = (home, {**home, **given["set"]["ingest.away"]["set"]})
    return _captioned([list(read(seed=seed, image_size=_FILM, **{**one, **own})) for one in sections])


def _captioned(rows: Sequence[Sequence[Record]]) -> Image.Image:
    sheet = Image.new("L", (_SHOWN * (_FILM + _GAP), len(rows) * (_FILM + _POOL_CAPTION)), 255)
    for line, row in enumerate(rows):
        for column, record in enumerate(row):
            left, top = column * (_FILM + _GAP), line * (_FILM + _POOL_CAPTION)
            sheet.paste(Image.fromarray(_drawing(record)()), (left, top))
            caption = [record.patient_id, *wrap(record.findings or "", 28)[:8]]
            ImageDraw.Draw(sheet).text((left, top + _FILM + 2), "\n".join(caption), fill=0)
    return sheet


def _drawing(record: Record) -> Drawing:
    assert isinstance(record.image, Drawing)
    return record.image


def _taken(record: Record) -> str:
    """What a film and its near copies are drawn by."""
    return str(_drawing(record).rng.bit_generator.state)


def _row(name: str, rng: np.random.Generator) -> Image.Image:
    row = Image.new("L", (len(_VIEWS) * (_FILM + _GAP) + 2 * _GAP, _FILM + _CAPTION), 255)
    for number, view in enumerate(_VIEWS):
        if number < len(_SEVERITIES):
            case = _graded(case_from_labels([name], rng), _SEVERITIES[number])
        left = number * (_FILM + _GAP)
        row.paste(Image.fromarray(draw_film(case, rng, _FILM, view)), (left, 0))
        caption = f"{name}, lateral" if view == "lateral" else _told(case, name, rng)
        ImageDraw.Draw(row).text((left, _FILM + 2), "\n".join(wrap(caption, 28)[:4]), fill=0)
    return row


def _graded(case: Case, severity: float) -> Case:
    return replace(case, findings=tuple(replace(f, severity=severity) for f in case.findings))


def _told(case: Case, name: str, rng: np.random.Generator) -> str:
    """What the report says of the observation."""
    report = write_report(case, rng, lateral=True, prior=False)
    told = [s.text for s in report.findings if any(label == name for label, _ in s.states)]
    return told[0] if told else report.impression[0].text


if __name__ == "__main__":
    main()
