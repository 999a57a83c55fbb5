"""Rule labeler in CheXpert's manner: text -> sentences -> lexicon items -> assertion -> 14 classes.

Here its lexicon: tokens, what the phrases of phrases.yml stand for, and the search of a sentence for them
(`radrl.labelers.rules.phrases`), on folded tokens (`fold`).
"""

from __future__ import annotations

import enum
import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from radrl.labelers.rules.phrases import Phrases, Words, entries
from radrl.observations import INDEX
from radrl.storage import yaml_files

_TOKEN: Final = re.compile(r"[a-z0-9]+|[,:/?()]")

_IRREGULAR: Final = {
    "pneumothoraces": "pneumothorax",
    "pneumothoraxes": "pneumothorax",
    "hydropneumothoraces": "hydropneumothorax",
    "hemopneumothoraces": "hemopneumothorax",
    "haemopneumothoraces": "haemopneumothorax",
    "hemothoraces": "hemothorax",
    "haemothoraces": "haemothorax",
    "atelectases": "atelectasis",
    "metastases": "metastasis",
    "diagnoses": "diagnosis",
    "masses": "mass",
    "foci": "focus",
    "bullae": "bulla",
    "apices": "apex",
}


def tokens(sentence: str) -> list[str]:
    """Folded tokens of a lower-case sentence: words without plural endings, and the marks between them."""
    return [fold(word) for word in unfolded(sentence)]


def unfolded(sentence: str) -> list[str]:
    """The tokens of a lower-case sentence as they are spelled."""
    return _TOKEN.findall(sentence)


def raw_tokens(sentence: str) -> list[re.Match[str]]:
    """As `unfolded`, with their places."""
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


class Kind(enum.IntEnum):
    """The part an item plays in its sentence."""

    MENTION = enum.auto()  # a finding: present unless its sentence says otherwise
    ORGAN = enum.auto()  # heart or mediastinum: says nothing until a size is stated of it
    ENLARGED = enum.auto()
    BORDERLINE = enum.auto()
    NORMAL = enum.auto()
    DENY = enum.auto()  # denies what follows
    DENY_BACK = enum.auto()  # denies what precedes
    HEDGE = enum.auto()  # makes what follows uncertain
    HEDGE_LIST = enum.auto()  # hedges all of a list: "may represent A, mild B and C"
    HEDGE_BACK = enum.auto()
    OPEN = enum.auto()  # "cannot exclude": uncertain whatever denial is near
    OPEN_BACK = enum.auto()
    EITHER = enum.auto()  # or, versus, slash
    AND = enum.auto()
    COMMA = enum.auto()
    VERB = enum.auto()  # finite verb: one clause has one
    SEEN = enum.auto()  # predicate without content ("is seen"), closes a denied list
    CHANGE = enum.auto()  # "no change" denies the change, not the finding
    QUALIFIER = enum.auto()  # opens a new noun phrase after a comma ("no effusion, mild edema")
    STOP = enum.auto()  # ends every scope
    IGNORED = enum.auto()  # shadows a phrase that looks like a mention or a cue
    ASKED = enum.auto()  # "evaluate for": a question, which says nothing of what follows
    ASKED_BACK = enum.auto()  # "must be ruled out": one that says nothing of what precedes


(
    MENTION,
    ORGAN,
    ENLARGED,
    BORDERLINE,
    NORMAL,
    DENY,
    DENY_BACK,
    HEDGE,
    HEDGE_LIST,
    HEDGE_BACK,
    OPEN,
    OPEN_BACK,
    EITHER,
    AND,
    COMMA,
    VERB,
    SEEN,
    CHANGE,
    QUALIFIER,
    STOP,
    IGNORED,
    ASKED,
    ASKED_BACK,
) = Kind
"""The same by names of their own: to look one up in the enumeration takes longer than to compare it."""


class Entry(NamedTuple):
    """What a phrase stands for.

    Args:
        kind: its part in the sentence.
        observations: indices into `radrl.observations.OBSERVATIONS`; No Finding's stands for the other
            findings that CheXpert collects under that name (emphysema, scoliosis, ...).
        weak: uncertain at most, however firmly the phrase is asserted ("vascular congestion" for Edema).
        implied: indices that are uncertain where the phrase is not denied ("heart failure": Cardiomegaly).
    """

    kind: Kind
    observations: tuple[int, ...] = ()
    weak: bool = False
    implied: tuple[int, ...] = ()


class Item(NamedTuple):
    """A phrase found in a sentence: tokens ``start`` to ``end`` (exclusive)."""

    entry: Entry
    start: int
    end: int

    @property
    def kind(self) -> Kind:
        """The part the item plays."""
        return self.entry.kind


class Tables:
    """A YAML file of phrases, a line each: under every name its phrases, or phrases by what they stand for.

    Args:
        path: the file.
        names: of all its tables.

    Raises:
        radrl.storage.yaml_files.NoYaml: it cannot be read, or lacks a table or has another one.
    """

    def __init__(self, path: Path, names: Collection[str]) -> None:
        said = yaml_files.read(path)
        found = said if isinstance(said, dict) else {}
        if wrong := sorted({*names} ^ {*map(str, found)}):
            raise yaml_files.NoYaml(f"{path}: its tables are {', '.join(names)}; mend {', '.join(wrong)}")
        self._path, self._tables = path, found

    def text(self, name: str) -> str:
        """A table of one text."""
        return self._checked(name, self._tables[name])

    def by_key(self, name: str) -> dict[str, str]:
        """A table of texts by key."""
        table = self._tables[name]
        if not isinstance(table, dict):
            raise yaml_files.NoYaml(f"{self._path}: {name} is no table by key; write `key: phrases` under it")
        return {str(key): self._checked(f"{name}: {key}", phrases) for key, phrases in table.items()}

    def _checked(self, name: str, phrases: object) -> str:
        if not isinstance(phrases, str):
            raise yaml_files.NoYaml(f"{self._path}: {name} is {phrases!r}; write phrases, one a line")
        return phrases


_TABLES: Final = Tables(
    Path(__file__).with_name("phrases.yml"),
    (
        "findings",
        "shadowed",
        "organs",
        "borderline_heart",
        "fissure_fluid",
        "congestion",
        "heart_failure",
        "abbreviations",
        "cues",
    ),
)

FINDINGS: Final = {tuple(names.split(", ")): own for names, own in _TABLES.by_key("findings").items()}
"""Phrases by the observations that they mention."""
ORGANS: Final = {tuple(names.split(", ")): own for names, own in _TABLES.by_key("organs").items()}
"""Organs by the observations that their size speaks of."""
ABBREVIATIONS: Final = _TABLES.by_key("abbreviations")
"""Phrases of the other tables by what is written for them."""
CUES: Final = {Kind[kind.upper()]: own for kind, own in _TABLES.by_key("cues").items()}
"""Phrases that deny, hedge or bound what is said."""
SHADOWED: Final = _TABLES.text("shadowed")
BORDERLINE_HEART: Final = _TABLES.text("borderline_heart")
FISSURE_FLUID: Final = _TABLES.text("fissure_fluid")
CONGESTION: Final = _TABLES.text("congestion")
HEART_FAILURE: Final = _TABLES.text("heart_failure")


def _entries() -> dict[Words, Entry]:
    """What each phrase stands for. Earlier tables win over later ones where a phrase stands in several."""
    heart, edema, effusion = INDEX["Cardiomegaly"], INDEX["Edema"], INDEX["Pleural Effusion"]
    tables = [
        (Entry(Kind.IGNORED), SHADOWED),
        (Entry(Kind.MENTION, (edema,), implied=(heart,)), HEART_FAILURE),
        (Entry(Kind.MENTION, (heart,), weak=True), BORDERLINE_HEART),
        (Entry(Kind.MENTION, (effusion,)), FISSURE_FLUID),
        (Entry(Kind.MENTION, (edema,), weak=True), CONGESTION),
    ]
    for kind, named in ((Kind.ORGAN, ORGANS), (Kind.MENTION, FINDINGS)):
        tables += [(Entry(kind, tuple(INDEX[name] for name in names)), own) for names, own in named.items()]
    tables += [(Entry(kind), own) for kind, own in CUES.items()]
    found: dict[Words, Entry] = {}
    for words, entry in entries(tables, fold):
        found.setdefault(words, entry)
    for words, phrase in entries(((phrase, short) for short, phrase in ABBREVIATIONS.items()), fold):
        found.setdefault(words, _meant(found, phrase))
    return found


def _meant(known: Mapping[Words, Entry], phrase: str) -> Entry:
    """What a phrase of the lexicon stands for."""
    entry = known.get(tuple(map(fold, phrase.split())))
    if entry is None:
        raise yaml_files.NoYaml(f"phrases.yml: abbreviations: {phrase!r} is no phrase of the other tables")
    return entry


ENTRIES: Final = _entries()
"""What each phrase of the lexicon stands for, by its folded words."""
_PHRASES: Final = Phrases(ENTRIES.items())


def find(words: list[str]) -> list[Item]:
    """The lexicon's phrases in a sentence, the longest at each place, left to right, never overlapping.

    Args:
        words: folded tokens (`tokens`).

    Returns:
        Items in the order of the sentence.
    """
    return [Item(entry, start, end) for entry, start, end in _PHRASES.find(words)]
