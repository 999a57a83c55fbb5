"""Report text as published systems change it before they train on it and score against it.

Scores on reports cleaned in two ways cannot be compared, so a protocol has a name and is followed to its
oddities, which `docs/data/cleaning.md` lists. They are made for counting words; some fuse two findings into a
word that no labeler knows, so labelers read the text before it, unless `LabelsOf` says otherwise:
- `none`: the text as it is;
- `r2gen_iu`, `r2gen_mimic`: cuhksz-nlp/R2Gen, `modules/tokenizers.py`, one for each of its two data sets;
- `mambaxray`: Event-AHU/Medical_Image_Analysis, `CXPMRG_Bench_MambaXray_VL/dataset/data_helper.py`, all but
  its IU X-Ray branch, which is `r2gen_iu`;
- `promptmrg`: jhb86253817/PromptMRG, `dataset/utils.py`: the text of `r2gen_mimic`, another way of counting.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal, get_args

Protocol = Literal["none", "r2gen_iu", "r2gen_mimic", "mambaxray", "promptmrg"]
PROTOCOLS: Final[tuple[Protocol, ...]] = get_args(Protocol)

LabelsOf = Literal["original", "cleaned"]
"""What labelers read: the text as its author wrote it, or what a protocol made of it."""
LABELS_OF: Final[tuple[LabelsOf, ...]] = get_args(LabelsOf)

Replacements = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Rules:
    """Strings that a protocol replaces, one after the other, and characters it takes out of sentences."""

    replaced: Replacements
    removed: str


_QUOTES: Final = str.maketrans("", "", "\"/\\'")
_MARKS: Final = ".,?;*!%^&_+()[]{}"

# Each protocol numbers up to five items, and loses "1. " everywhere, also out of "T11. Small effusion".
_ITEMS: Final[Replacements] = (
    ("1. ", ""),
    *((f". {item}. ", ". ") for item in range(2, 6)),
    *((f" {item}. ", ". ") for item in range(2, 6)),
)
# A pass halves a run, so a longer one than 2 ** passes is not brought down to one.
# MIMIC's runs of underscores are left out: underscores are removed anyway.
_MIMIC: Final[Replacements] = (("\n", " "), *[("  ", " ")] * 6, *[("..", ".")] * 8, *_ITEMS)

_RULES: Final[Mapping[Protocol, _Rules]] = {
    # ":<=>@" because R2Gen's character class holds the range ":-[", which keeps the hyphen it seems to name
    "r2gen_iu": _Rules((*[("..", ".")] * 3, *_ITEMS), _MARKS + ":<=>@"),
    "r2gen_mimic": _Rules(_MIMIC, _MARKS + ":<=>@"),
    "mambaxray": _Rules((*_MIMIC, (":", " :")), _MARKS),
    "promptmrg": _Rules(_MIMIC, _MARKS + ":<=>@"),
}


def clean(text: str, protocol: Protocol, max_words: int | None = None) -> str:
    """Clean a report as a published system does.

    Args:
        text: the report or one of its sections.
        protocol: one of `PROTOCOLS`.
        max_words: cut after so many words, a full stop that stands alone being one. R2Gen's limits of 60
            (IU X-Ray) and 100 (MIMIC-CXR) count its start token, so its longest references are those of 59
            and 99. `promptmrg` counts as PromptMRG does, where two spaces hold a word.

    Returns:
        The cleaned text. Every protocol but `none` gives small letters and ends the text in " .", also an
        empty one, unless it was cut.

    Raises:
        ValueError: the protocol is none of `PROTOCOLS`, or `max_words` is less than 1.
    """
    if protocol not in PROTOCOLS:
        raise ValueError(f"cleaning {protocol!r} is unknown; valid: {', '.join(PROTOCOLS)}")
    if max_words is not None and max_words < 1:
        raise ValueError(f"max_words must be at least 1 or null, got {max_words}")
    cleaned = text if protocol == "none" else _cleaned(text, _RULES[protocol])
    return _limited(cleaned, protocol, max_words)


def clean_once(text: str, protocol: Protocol, max_words: int | None = None) -> str:
    """As `clean`, but leave a text alone that was cleaned before, as the corpus' references are.

    A second pass changes no word of it, but blanks: it puts one more before the last stop, and those of MIMIC
    close gaps. pycocoevalcap's ROUGE-L counts these.

    Args:
        text: as there.
        protocol: as there.
        max_words: as there.

    Example:
        >>> clean("no edema .", "r2gen_iu"), clean_once("no edema .", "r2gen_iu")
        ('no edema  .', 'no edema .')
    """
    words, cleaned = text.split(), clean(text, protocol).split()
    if cleaned == words:
        return _limited(text, protocol, max_words)
    if cleaned == [*words, "."] and _limited(f"{text} .", protocol, max_words) == text:
        return text  # a cut had taken its last stop
    return clean(text, protocol, max_words)


def _cleaned(text: str, rules: _Rules) -> str:
    for old, new in rules.replaced:
        text = text.replace(old, new)
    removed = str.maketrans("", "", rules.removed)
    sentences = text.strip().lower().split(". ")
    return " . ".join(part.translate(_QUOTES).strip().translate(removed) for part in sentences) + " ."


def _limited(text: str, protocol: Protocol, words: int | None) -> str:
    if words is None:
        return text
    return _cut_at_spaces(text, words) if protocol == "promptmrg" else _cut(text, words)


def _cut(text: str, words: int) -> str:
    found = list(islice(re.finditer(r"\S+", text), words + 1))
    return text if len(found) <= words else text[: found[words - 1].end()]


def _cut_at_spaces(text: str, words: int) -> str:
    return " ".join(text.split(" ")[:words])
