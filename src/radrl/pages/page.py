"""What every page says of its data, and how its template is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import jinja2

from radrl.pages.caveats import DRAWN_FILMS

BANNERS: Final = {
    "iu_xray": "IU X-Ray (Open-i). Its films and reports may be passed on unchanged, with their source.",
    "mimic_cxr": "MIMIC-CXR, credentialed data: this page shows its films and may not be passed on.",
    "chexpert_plus": "CheXpert Plus, under an agreement: this page shows its films and may not be passed on.",
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
    return jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
