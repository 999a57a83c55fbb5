"""A report's text cut into sentences of folded tokens.

What a report says about the request (indication, history, technique, comparison) is no finding of this film
and is left out when it stands under its heading. A dash ends a sentence where both of its sides name a
finding or an organ ("no effusion - pneumothorax is seen"), or the second one has an article. Behind a name it
stands for a colon ("heart - enlarged"), behind a statement for nothing ("pneumonia of the right lower lobe -
resolved"), and anything else is a hyphen that blanks were put around ("ground - glass opacity").
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from radrl.labelers.rules import Kind, find, fold, tokens, unfolded

__all__ = ["fold", "sentences", "tokens", "unfolded"]

_FOREIGN: Final = (
    "indication|indications|clinical indication|clinical history|clinical information|history|"
    "reason for exam|reason for examination|reason for study|technique|"
    "comparison|comparisons|comparison study|"
    "procedure|procedure comments|exam|examination|exam type|study|date"
)
_OWN: Final = "findings|finding|impression|impressions|conclusion|conclusions|report|opinion|summary"
_SECTION: Final = re.compile(
    rf"(?:^|(?<=[\s.*]))(?:(?P<foreign>{_FOREIGN})|(?P<own>{_OWN}))\s*:", re.IGNORECASE
)
_LONGEST: Final = max(map(len, f"{_FOREIGN}|{_OWN}".split("|")))

_PARAGRAPH: Final = re.compile(r"\n\s*\n")
# A stop ends a sentence unless a digit follows at once ("1.5 cm"); a line that opens a list item starts one.
_SENTENCE_END: Final = re.compile(r"\.(?!\d)|[!\n]\s*(?=\d{1,2}[.)]\s|[-*\u2022]\s)|\n\s*\n|;")
_DASH: Final = re.compile(
    r"[\u2014\u2015]|--+|(?<=\s)[-\u2010\u2013\u2212]|[-\u2010\u2013\u2212](?=\s)|(?<=[a-z])\u2013(?=[a-z])"
)
# Hyphens of one word keep it together where blanks were put around them ("right - sided", "t8 - t9").
_PREFIX: Final = re.compile(
    r"\b(?:non|mid|x|post|pre|well|ill|cardio|costo|broncho|peri|retro|infra|supra|sub|para|semi|multi|inter"
    r"|intra|extra|pleuro|fibro|hemo|hydro)$"
)
_SUFFIX: Final = re.compile(
    r"(?:sided?|like|shaped|up|rays?|based|spaces?|fluid levels?|containing|appearing|defined|lying|standing"
    r"|term|type|related|induced|dependent)\b"
)
_SPAN: Final = re.compile(r"\d-[a-z]?\d")
# A name of at most four words, no denial and no list.
_NAME: Final = re.compile(r"(?!.*\b(?:and|no|not|without)\b)[^\s,:/]+(?: [^\s,:/]+){0,3}")
_LIST_GOES_ON: Final = re.compile(r"(?:or|nor|and|versus|vs)\b")
_ARTICLE: Final = re.compile(r"(?:an?|the) \w")
_ANSWERED_NO: Final = (": no", ":no")
_NAMED: Final = frozenset({Kind.MENTION, Kind.ORGAN})


def sentences(report: str) -> list[str]:
    """Cut a report into sentences, headings of foreign sections and their text left out.

    Args:
        report: raw text, with or without headings, one line or many.

    Returns:
        Lower-case sentences with single blanks, none of them empty; an answer "edema: no" as "edema: none".
    """
    if not report.isascii():
        report = unicodedata.normalize("NFKC", report)  # ligatures and full-width letters as their letters
    text = _own_sections(report).lower()
    parts = _SENTENCE_END.split(text)
    if ("-" in text or not text.isascii()) and _DASH.search(text):
        parts = [clause for part in parts for clause in _clauses(part)]
    cut = (" ".join(part.split()).strip(" -*\u2022") for part in parts)
    return [f"{said}ne" if said.endswith(_ANSWERED_NO) else said for said in cut if said]


def _clauses(part: str) -> list[str]:
    """A part of a report cut at its dashes, but not behind a name or within a word."""
    first, *others = map(str.strip, _DASH.split(part))
    clauses = [first]
    for clause in others:
        before = clauses[-1]
        joint = _joint(before, clause)
        clauses[-1:] = [before, clause] if joint is None else [before + joint + clause]
    return clauses


def _joint(before: str, clause: str) -> str | None:
    """What a dash stands for: a hyphen, a blank, a colon, or nothing where it ends a sentence."""
    touching = f"{before[-1:]}-{clause[:2]}"
    if _PREFIX.search(before) or _SUFFIX.match(clause) or _SPAN.match(touching):
        return "-"
    if _LIST_GOES_ON.match(clause):
        return " "
    if not _names_something(before):
        return None if _ARTICLE.match(clause) else "-"
    if _NAME.fullmatch(before):
        return ": "
    return None if _names_something(clause) else " "


def _names_something(clause: str) -> bool:
    """Whether a clause names a finding or an organ."""
    return any(item.kind in _NAMED for item in find(tokens(clause)))


def _own_sections(report: str) -> str:
    """The report without its foreign sections; untouched where it has none."""
    heads = _heads(report)
    if not heads:
        return report
    kept = [report[: heads[0].start()]]
    for head, after in zip(heads, [*heads[1:], None], strict=True):
        body = report[head.end() : after.start() if after else len(report)]
        if head["own"]:
            kept.append(body)
        elif after is None:
            kept.append(_after_first_statement(body))
    return "\n\n".join(kept)


def _heads(report: str) -> list[re.Match[str]]:
    """The headings of sections, which are looked for before colons alone."""
    heads = []
    before, colon = 0, report.find(":")
    while colon >= 0:
        start = max(before, len(report[:colon].rstrip()) - _LONGEST)
        if head := _SECTION.search(report, start, colon + 1):
            heads.append(head)
        before, colon = colon + 1, report.find(":", colon + 1)
    return heads


def _after_first_statement(body: str) -> str:
    """What follows a foreign heading's own text when no further heading says where it ends."""
    for end in (_PARAGRAPH, _SENTENCE_END):
        if cut := end.search(body):
            return body[cut.end() :]
    return ""
