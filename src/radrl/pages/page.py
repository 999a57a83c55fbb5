"""What every page says of its data and of what its numbers cannot say; its template; whose an old one is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import jinja2

DRAWN_FILMS: Final = (
    "Drawn films: these numbers show that the machinery works. They say nothing about patients."
)

_ELSEWHERE: Final = "trained again with another seed, a method ends elsewhere"

ONE_SEED: Final = f"One seed: {_ELSEWHERE} (`radrl study` runs several)."
"""Below values without intervals."""

OVER_PATIENTS: Final = (
    "Intervals and tests of one comparison are over its patients: on others the same trained policies would "
    f"score about so. They are no test of training: {_ELSEWHERE}."
)
"""Below a comparison of arms that were trained once."""

NOT_OURS: Final = " (not ours)"
"""Behind the name of a row that was not made here."""

SHARED_FILMS: Final = """\
All seeds have the same films: what the tests say is of training, on these films. On others the differences
would come out otherwise by what the table of the spread gives for the test films."""
"""Where the seeds of a study share their films."""

ONE_SEED_STUDY: Final = """\
One seed: interval and p come from resampling its patients. What another training would give is not in
them."""
"""In the Markdown of a study with one seed."""


BANNERS: Final = {
    "iu_xray": "IU X-Ray (Open-i). Its films and reports may be passed on unchanged, with their source.",
    "mimic_cxr": "MIMIC-CXR, credentialed data: this page shows its films and may not be passed on.",
    "chexpert_plus": "CheXpert Plus, under an agreement: this page shows its films and may not be passed on.",
    "rexgradient": "ReXGradient, under an agreement: this page shows its films and may not be passed on.",
    "padchest_gr": "PadChest-GR, under an agreement: this page shows its films and may not be passed on.",
    "csv": "Films and reports of a table of the user's own. What the numbers say depends on who is in it.",
}
"""Which data the page speaks of, by `ingest.source`."""


def banner(ingest: Mapping[str, Any]) -> str:
    """The line that stands above everything.

    Args:
        ingest: the ingest summary.
    """
    return DRAWN_FILMS if ingest["drawn"] else BANNERS[ingest["source"]]


def environment() -> jinja2.Environment:
    """For templates of pages: texts are escaped, and a name without a value is an error."""
    import jinja2

    return jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def of_an_earlier_run(page: Path, root: Path) -> str:
    """Whose a page is that this run did not come to.

    Args:
        page: its file.
        root: the project's folder, from which it is named.

    Returns:
        A sentence with the time of its writing, by the machine's clock; empty where there is no page.
    """
    if not page.is_file():
        return ""
    written = datetime.fromtimestamp(page.stat().st_mtime)
    name = os.path.relpath(page, root)
    return f"the page {name} is of an earlier run, of {written:%d %B, %H:%M}, not of this one"
