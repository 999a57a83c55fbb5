"""A report read into findings, each with what is said of it and where.

Built on the rule labeler: its sentences, its lexicon and the reach of its denials and hedges. Beyond its 13
observations it names about 60 findings (nodule apart from mass, emphysema, scoliosis, granuloma, kinds of
devices), and takes a normal statement for the denial of what it excludes: "lungs are clear" is an absent
"lung abnormality", "heart size is normal" an absent "cardiomegaly", "no acute disease" an absent "acute
cardiopulmonary abnormality".

It cannot: count (three nodules are one finding a mention), read measurements, follow a reference across
sentences ("this is new"), tell a tip's position, resolve what removed words (XXXX) hid, or read findings
that its vocabulary does not name. A place is given to the finding that grammar suggests, which in long
lists is a guess.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, Literal, NamedTuple

from radrl.labelers.rules.text import sentences
from radrl.observations import NEGATIVE, POSITIVE, UNCERTAIN
from radrl.scoring.rules import vocabulary as known
from radrl.scoring.rules.sentence import CACHED_SENTENCES, parse
from radrl.scoring.rules.vocabulary import DENSITIES, PLACELESS, SIDELESS, Attribute, Mention, Role

Polarity = Literal["present", "absent", "uncertain"]
_POLARITY: Final[dict[int, Polarity]] = {POSITIVE: "present", NEGATIVE: "absent", UNCERTAIN: "uncertain"}
STUDY: Final = "study"
"""Name of a change that is said of no finding ("no interval change")."""


class Finding(NamedTuple):
    """A finding as one sentence of a report states it.

    Args:
        name: one of the vocabulary's names, such as ``pleural effusion``; `STUDY` for a bare comparison.
        polarity: whether the sentence asserts, denies or hedges it.
        side: ``left``, ``right``, ``bilateral``, or empty.
        places: such as ``base``, ``upper``, ``hilum``, ``rib``; sorted.
        severity: ``trace``, ``small``, ``mild``, ``moderate``, ``large``, ``severe``, a range of two
            (``mild to moderate``), or empty.
        change: ``new``, ``increased``, ``decreased``, ``resolved``, ``unchanged``, or empty.
        lent: whether side and places are those of a finding that points to it ("left opacity suggests
            pneumonia") or that it is told to lie beside.
        sentence: number of the sentence, in the order of `radrl.labelers.rules.text.sentences`.
        start: first of its tokens (`radrl.labelers.rules.text.tokens`) that names the finding.
        end: the token after the last.
    """

    name: str
    polarity: Polarity
    side: str = ""
    places: tuple[str, ...] = ()
    severity: str = ""
    change: str = ""
    lent: bool = False
    sentence: int = 0
    start: int = 0
    end: int = 0

    @property
    def asserted(self) -> bool:
        """Whether the sentence asserts or at least suspects the finding."""
        return self.polarity != "absent"


def read(report: str) -> list[Finding]:
    """Read a report.

    Args:
        report: raw text, with or without headings; sections that are not about the film are passed over.

    Returns:
        Findings in the order of the report, repeated where it repeats itself; none for an empty text.

    Example:
        >>> finding = read("Small left pleural effusion, unchanged.")[0]
        >>> finding.name, finding.polarity, finding.side, finding.severity, finding.change
        ('pleural effusion', 'present', 'left', 'small', 'unchanged')
    """
    return [
        finding._replace(sentence=number)
        for number, sentence in enumerate(sentences(report))
        for finding in _findings(sentence)
    ]


@lru_cache(maxsize=CACHED_SENTENCES)
def _findings(sentence: str) -> tuple[Finding, ...]:
    """What one sentence states."""
    parsed = parse(sentence)
    found = [_finding(mention) for mention in parsed.mentions]
    for i, j in (*parsed.links, *parsed.neighbours):
        if not found[j].side and not found[j].places:
            found[j] = _beside(found[i], found[j])
    loose = [one for organ in parsed.organs for one in organ.attributes if one.role is Role.CHANGE]
    study = _finding(Mention(STUDY, POSITIVE, 0, len(parsed.at), attributes=tuple(loose)))
    return (*found, study) if study.change else tuple(found)


def _beside(host: Finding, guest: Finding) -> Finding:
    """A finding at the side and places of another, as far as it has any."""
    side = "" if guest.name in SIDELESS else host.side
    places = () if guest.name in PLACELESS else host.places
    return guest._replace(side=side, places=places, lent=bool(side or places))


def _finding(mention: Mention) -> Finding:
    values = {role: [one.value for one in mention.attributes if one.role is role] for role in Role}
    return Finding(
        mention.name,
        _POLARITY[mention.said],
        _side(values[Role.SIDE]),
        tuple(sorted(set(values[Role.PLACE]))),
        next(iter(values[Role.SEVERITY]), ""),
        _change(mention),
        start=mention.start,
        end=mention.end,
    )


def _side(values: list[str]) -> str:
    if not values:
        return ""
    return values[0] if len(set(values)) == 1 else known.BILATERAL


def _change(mention: Mention) -> str:
    """The change said of a finding; one with a direction goes before "unchanged" ("again seen, larger")."""
    changes = [
        known.INCREASED if one.value == known.RAISED else one.value
        for one in mention.attributes
        if one.role is Role.CHANGE and not _describes(one, mention)
    ]
    if mention.said == NEGATIVE:  # "no new effusion" compares nothing
        return known.RESOLVED if known.RESOLVED in changes else ""
    return min(changes, key=lambda change: change == known.UNCHANGED, default="")


def _describes(change: Attribute, mention: Mention) -> bool:
    """Whether "increased" only says that a density is there."""
    density = mention.name in DENSITIES and change.end <= mention.start
    return change.value == known.RAISED and (density or mention.name == STUDY)
