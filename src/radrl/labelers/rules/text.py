"""A report's text cut into sentences of folded tokens.

What a report says about the request (indication, history, technique, comparison) is no finding of this film
and is left out when it stands under its heading. A dash between clauses ends a sentence ("no effusion - a
pneumothorax is seen"), or stands for a colon behind a name ("heart - enlarged").
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

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

_PARAGRAPH: Final = re.compile(r"\n\s*\n")
# A stop ends a sentence unless a digit follows at once ("1.5 cm"); a line that opens a list item starts one.
_SENTENCE_END: Final = re.compile(r"\.(?!\d)|[!\n]\s*(?=\d{1,2}[.)]\s|[-*\u2022]\s)|\n\s*\n|;")
_BLANKS: Final = re.compile(r"\s+")
_DASH: Final = re.compile(r"[\u2014\u2015]|--+|(?<=\s)[-\u2013\u2212](?=\s)")
# Hyphens of one word keep it together where blanks were put around them ("right - sided", "t8 - t9").
_PREFIX: Final = re.compile(
    r"\b(?:non|mid|x|post|pre|well|ill|cardio|costo|broncho|peri|retro|infra|supra|sub|para|semi|multi|inter"
    r"|intra|extra|pleuro|fibro|hemo|hydro)$"
)
_SUFFIX: Final = re.compile(
    r"(?:sided?|like|shaped|up|rays?|based|spaces?|fluid levels?|containing|appearing|defined|lying|standing"
    r"|term|type)\b"
)
_SPAN: Final = re.compile(r"\d-[a-z]?\d")
# A name of at most four words, no denial and no list.
_NAME: Final = re.compile(r"(?!.*\b(?:and|no|not|without)\b)[^\s,:/]+(?: [^\s,:/]+){0,3}")
_TOKEN: Final = re.compile(r"[a-z0-9]+|[,:/?()]")

_IRREGULAR: Final = {
    "pneumothoraces": "pneumothorax",
    "pneumothoraxes": "pneumothorax",
    "hydropneumothoraces": "hydropneumothorax",
    "hemopneumothoraces": "hemopneumothorax",
    "atelectases": "atelectasis",
    "metastases": "metastasis",
    "diagnoses": "diagnosis",
    "masses": "mass",
    "foci": "focus",
    "bullae": "bulla",
    "apices": "apex",
}


def sentences(report: str) -> list[str]:
    """Cut a report into sentences, headings of foreign sections and their text left out.

    Args:
        report: raw text, with or without headings, one line or many.

    Returns:
        Lower-case sentences with single blanks, none of them empty.
    """
    if not report.isascii():
        report = unicodedata.normalize("NFKC", report)  # ligatures and full-width letters as their letters
    text = _own_sections(report).lower()
    parts = _SENTENCE_END.split(text)
    if _DASH.search(text):
        parts = [clause for part in parts for clause in _clauses(part)]
    cut = (_BLANKS.sub(" ", part).strip(" -*\u2022") for part in parts)
    return [sentence for sentence in cut if sentence]


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
    """What a dash stands for: a hyphen, a comma, a colon, or nothing where it ends a sentence."""
    touching = f"{before[-1:]}-{clause[:2]}"
    if _PREFIX.search(before) or _SUFFIX.match(clause) or _SPAN.match(touching):
        return "-"
    if clause.startswith(("or ", "nor ")):
        return ", "
    return ": " if _NAME.fullmatch(before) else None


def _own_sections(report: str) -> str:
    """The report without its foreign sections; untouched where it has none."""
    heads = list(_SECTION.finditer(report))
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


def _after_first_statement(body: str) -> str:
    """What follows a foreign heading's own text when no further heading says where it ends."""
    for end in (_PARAGRAPH, _SENTENCE_END):
        if cut := end.search(body):
            return body[cut.end() :]
    return ""


def tokens(sentence: str) -> list[str]:
    """Folded tokens of a lower-case sentence: words without plural endings, and the marks between them."""
    return [fold(word) for word in _TOKEN.findall(sentence)]


def raw_tokens(sentence: str) -> list[re.Match[str]]:
    """The tokens of a lower-case sentence as they are spelled, with their places."""
    return list(_TOKEN.finditer(sentence))


@lru_cache(maxsize=65536)
def fold(word: str) -> str:
    """Take the plural (or third person) ending off a word, the same way for lexicon and report."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
