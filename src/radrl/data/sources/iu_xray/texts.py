"""Section texts of IU X-Ray: entities that were escaped twice, words for nothing, and the removed words."""

from __future__ import annotations

import html
import re
from typing import Final, Literal, get_args

Removed = Literal["keep", "drop"]
REMOVED: Final[tuple[Removed, ...]] = get_args(Removed)
"""What is done with XXXX, which stands for a word that de-identification took out."""

_NULLS: Final = frozenset({"", "nan", "none", "null", "<na>"})
_WORD: Final = re.compile(r"[^\s(\[]*X{4}\S*?(?=[.,;:!?)\]]*(?:\s|$))")
_LEFT_BEHIND: Final = (
    (re.compile(r"\([\s.,;:]*\)|\[[\s.,;:]*\]"), ""),  # brackets with nothing in them
    (re.compile(r"\s+(?=[.,;:!?)\]])|(?<=[(\[])\s+"), ""),
    (re.compile(r"[,;:]+(?=[.!?])"), ""),
    (re.compile(r"(?<=[.!?])(?:\s*[.,;:!?])+"), ""),
    (re.compile(r"^[\s.,;:!?]+"), ""),
    (re.compile(r"[ \t]{2,}"), " "),
)


def section(text: str | None, *, xxxx: Removed) -> str | None:
    """Tidy one section.

    Args:
        text: as the file has it.
        xxxx: `keep` leaves the text as published; `drop` takes out every word that holds XXXX
            (`x-XXXX`, `XXXX-year-old`) and the marks and spaces that it leaves behind.

    Returns:
        The text, or nothing where no text is left.
    """
    tidy = html.unescape(text or "").strip()
    if tidy.casefold() in _NULLS:
        return None
    if xxxx == "drop" and "XXXX" in tidy:
        tidy = _WORD.sub("", tidy)
        for pattern, instead in _LEFT_BEHIND:
            tidy = pattern.sub(instead, tidy)
    return tidy.strip() or None
