"""The contact sheet of the phantoms: a normal chest and every finding, mild to gross, with its sentence.

Run it with ``python -m radrl.data.phantom.contact_sheet OUT.png --seed 0``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import wrap
from typing import Final

import numpy as np
from PIL import Image, ImageDraw

from radrl.data.phantom.film import draw_film
from radrl.data.phantom.findings import DRAWN, Case, case_from_labels
from radrl.data.phantom.wording import write_report
from radrl.observations import INDEX

_FILM: Final = 160
_CAPTION: Final = 48
_GAP: Final = 4
_SEVERITIES: Final = (0.1, 0.5, 0.9)
_VIEWS: Final = ("frontal", "frontal", "frontal", "lateral")
_ROWS_SIDE_BY_SIDE: Final = 2


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw the sheet to a file."""
    parser = argparse.ArgumentParser(description="Draw a contact sheet of phantom films.")
    parser.add_argument("out", type=Path, help="PNG file to write")
    parser.add_argument("--seed", type=int, default=0, help="of the patients (default 0)")
    options = parser.parse_args(arguments)
    contact_sheet(options.seed).save(options.out, optimize=True)


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
