"""The FINDINGS of a report as MIT-LCP's scripts cut them, which most published samples of MIMIC-CXR go by.

`txt/section_parser.py` and `txt/create_section_files.py` of github.com/MIT-LCP/mimic-cxr write
`mimic_cxr_sectioned.csv`. Their rules for this one section, written anew, oddities kept:

- a header is capitals, blanks and `()/,-` behind a line's one leading blank, up to a colon and white space;
- the line after a header that ends its own line is text, never a header;
- of several findings the last one that is not empty counts; no paragraph without a header ever does;
- FINDINGS, seven words like it, and a header that names the film (`CHEST, PA AND LATERAL:`) are findings,
  FINDINGS AND IMPRESSION is an impression;
- `NUMBERED_STUDIES` have no row in that table: the scripts cut the conclusion out of them by hand.
"""

from __future__ import annotations

import re
from typing import Final

_HEADER: Final = re.compile(r"\n ([A-Z ()/,-]+):\s")
_MISSPELT: Final = frozenset(
    ("finding", "findins", "findindgs", "findgings", "findngs", "findnings", "finidngs")
)
_OTHERS: Final = ("history", "comparison", "addendum")
_FILM: Final = re.compile(
    r"chest|portable|ribs|bone window|two views|one view|(?:frontal|pa|ap|lateral) view"
    r"|frontal (?:and|upright|semi-upright)|pa and lat|ap and lateral|lateral and (?:pa|ap)"
)
NUMBERED_STUDIES: Final = frozenset(
    (
        *(50058765, 50196495, 50525523, 50743547, 50798377, 50808053, 50913680, 51410602, 51491012, 51966317),
        *(52035334, 52119491, 52648681, 52674888, 53071062, 53182247, 53202765, 53356173, 53488209, 53514462),
        *(53607029, 54168089, 54231141, 54365831, 54654948, 54875119, 54986978, 55124749, 55157853, 55258338),
        *(56412866, 56451190, 56482935, 56579911, 56724958, 56760320, 57150433, 57564132, 57936451, 58157373),
        *(58235663, 58375018, 59003148, 59067458, 59087630, 59215320, 59279892, 59330497, 59363654, 59505494),
        *(59562049, 59768032, 59889364, 59982525),
    )
)
"""The 54 studies that `custom_mimic_cxr_rules` of section_parser.py lists."""


def findings(text: str) -> str | None:
    r"""Cut the findings out of a report.

    Args:
        text: as its file holds it.

    Returns:
        The section without the white space around it, its lines kept; nothing where there is none.

    Example:
        >>> findings("FINAL REPORT\n INDICATION: ___\n \n FINDINGS: Clear\n lungs.\n \n IMPRESSION: None.\n")
        'Clear\n lungs.'
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    found, header = None, _HEADER.search(text)
    while header is not None:
        line_end = text.find("\n", header.end())
        following = _HEADER.search(text, header.end() if line_end < 0 else line_end)
        if _is_findings(header[1].lower().strip()):
            found = text[header.end() : following.start() if following else None].strip() or found
        header = following
    return found


def _is_findings(name: str) -> bool:
    if "impression" in name:
        return False
    if "findings" in name or name in _MISSPELT:
        return True
    return _FILM.search(name) is not None and not any(other in name for other in _OTHERS)
