"""The target text of a study: which of its sections the policy learns to write."""

from __future__ import annotations

import re
from typing import Final, Literal, get_args

Target = Literal["findings", "impression", "findings_impression", "report"]
TARGETS: Final[tuple[Target, ...]] = get_args(Target)

_WORD = re.compile(r"(?!X+\b)[^\W\d_]+")


def compose(target: Target, *, findings: str | None, impression: str | None, report: str | None) -> str:
    """Compose the text a policy is to write for one study.

    A section that is absent is left out and never replaced by another one, except that `report`
    falls back on the sections of a source that has no whole text.

    Args:
        target: `findings` or `impression` alone; `findings_impression`, those of the two that are
            there, in this order, on lines of their own; `report`, the whole text.
        findings: the FINDINGS section, or nothing.
        impression: the IMPRESSION section, or nothing.
        report: the whole text, or nothing.

    Returns:
        The text without white space at its ends and with plain newlines; empty when the study has none.

    Raises:
        ValueError: the target is none of `TARGETS`.
    """
    if target not in TARGETS:
        raise ValueError(f"target {target!r} is unknown; valid: {', '.join(TARGETS)}")
    if target == "report" and (whole := tidy(report)):
        return whole
    parts = {"findings": [findings], "impression": [impression]}.get(target, [findings, impression])
    return "\n".join(text for text in map(tidy, parts) if text)


def tidy(text: str | None) -> str:
    """Strip a text and turn Windows newlines into plain ones; an absent text is empty."""
    return (text or "").replace("\r\n", "\n").strip()


def word_count(text: str) -> int:
    """Count words of letters, so that `___`, `XXXX` (words removed), `...` and bare numbers are no report."""
    return len(_WORD.findall(text))
