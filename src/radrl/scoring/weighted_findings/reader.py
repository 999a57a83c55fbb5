"""A report read into findings: what it states and denies, where, how much, how large, and how it changes.

Built on the rule labeler: its sentences, its lexicon and the reach of its denials and hedges, beside which it
names the concepts of `concepts.csv`. A normal statement is the denial of what it excludes ("the lungs are
clear": no lung abnormality). What a report says of one finding in several places is put together: a mention
without side or region goes into the one that has them.

It cannot: count (three nodules of one place are one finding), follow a reference across sentences ("this is
new"), guess what removed words (XXXX) hid, or read findings that no phrase of its lexicon names. A place is
given to the finding that grammar suggests, which in long lists is a guess.

Nothing is remembered from report to report.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Final

from radrl.labelers.rules.text import sentences, unfolded
from radrl.observations import NEGATIVE, UNCERTAIN
from radrl.scoring.weighted_findings import Change, Finding, Side, vocabulary
from radrl.scoring.weighted_findings.assertions import Draft
from radrl.scoring.weighted_findings.lexicon import Meaning
from radrl.scoring.weighted_findings.measures import degree
from radrl.scoring.weighted_findings.sentence import read
from radrl.scoring.weighted_findings.vocabulary import ENLARGED, STATED_ABSENT_ONLY

_PIECE: Final = re.compile(r"[a-z0-9]+|[^a-z0-9]+")
_MARKS: Final = frozenset(",:/?()")
_BOTH: Final[frozenset[Side]] = frozenset({"left", "right"})
_NOWHERE: Final[frozenset[str]] = frozenset()
_NO_SIDE: Final[frozenset[Side]] = frozenset()
_REFINED: Final[dict[str, list[tuple[str, str]]]] = {}
for _concept, _sign, _name in vocabulary.REFINED:
    _REFINED.setdefault(_concept, []).append((_sign, _name))
_IMPLIED: Final = {concept: frozenset(regions.split()) for concept, regions in vocabulary.IMPLIED.items()}
_MASS_MM: Final = 30
"""A nodule of this size is a mass."""

_CHANGES: Final[tuple[Change, ...]] = ("new", "increased", "decreased", "resolved", "unchanged")
"""By precedence, where a report says several of one finding ("again seen, larger")."""


def findings_of(report: str, *, brief: bool = False) -> tuple[Finding, ...]:
    """Read a report.

    Args:
        report: raw text, with or without headings; sections that are not about the film are passed over.
        brief: whether to leave out what no score asks for: where in the report the findings stand, and all
            but the names of what a sentence denies that denies whatever it names.

    Returns:
        Findings in the order of the report, each of them once; none for an empty text. Spans count the
        characters of the report as given; they are (0, 0) in brief, and where a sentence was found to be
        spelled in letters that had to be normalised.

    Example:
        >>> finding = findings_of("Small left pleural effusion, unchanged.")[0]
        >>> finding.concept, finding.present, sorted(finding.sides), finding.severity, finding.change
        ('pleural_effusion', True, ['left'], 1, 'unchanged')
    """
    return merged(statements_of(report, brief=brief))


def statements_of(report: str, *, brief: bool = False) -> list[Finding]:
    """The findings of a report as its sentences state them, repeated where it repeats itself.

    Args:
        report: as of `findings_of`.
        brief: as of `findings_of`.

    Returns:
        Findings in the order of the report.
    """
    stated: list[Finding] = []
    text: _Text | None = None
    for sentence in sentences(report):
        spelled = unfolded(sentence)
        drafts = read(sentence, spelled, brief=brief)
        if not drafts:
            continue
        if len(drafts) > 1:
            drafts = _without_leads(drafts)
        if not brief:
            text = text or _Text(report)
            text.seek(spelled)
        stated += _findings(drafts, text)
    return stated


_DEVICES: Final = vocabulary.WITH_TIPS | {"sternotomy_wires"}


def _without_leads(drafts: list[Draft]) -> list[Draft]:
    """Drafts with what is said of a device's leads, or of where it is coiled, said of the device."""
    if not any(draft.concept in ("support_device", "device_malposition") for draft in drafts):
        return drafts
    kept: list[Draft] = []
    for draft in drafts:
        device = next((one for one in reversed(kept) if one.concept in _DEVICES), None)
        if device is not None and draft.concept in ("support_device", "device_malposition"):
            said = (*draft.before, *draft.after)
            device.after += [one for one in said if one.tip or one.size_mm or one.change]
        if device is None or draft.concept != "support_device":
            kept.append(draft)
    return kept


class _Text:
    """The words of a report and their places in it.

    Args:
        report: as given.
    """

    def __init__(self, report: str) -> None:
        lower = report.lower()
        if len(lower) != len(report):  # a letter that is two in lower case
            lower = "".join(one if len(one) == 1 else " " for one in map(str.lower, report))
        pieces = _PIECE.findall(lower)
        ends = list(accumulate(map(len, pieces)))
        first = 0 if pieces and pieces[0][0].isalnum() and pieces[0].isascii() else 1
        self._words: list[str] = pieces[first::2]
        self._ends = ends[first::2]
        self._at = 0
        self._here = 0
        self._tokens: Sequence[str] = ()
        self._marked = False

    def seek(self, spelled: Sequence[str]) -> None:
        """Go to the next sentence.

        Args:
            spelled: its tokens.
        """
        self._tokens = spelled
        words = [word for word in spelled if word not in _MARKS]
        count = len(words)
        self._marked = count < len(spelled)
        for at in range(self._at, len(self._words) - count + 1):
            if self._words[at : at + count] == words:
                self._here, self._at = at, at + count
                return
        self._here = -1

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Characters of tokens ``start`` to ``end`` (exclusive); (0, 0) where the sentence was not found."""
        if self._here < 0:
            return 0, 0
        if not self._marked:
            first, last = self._here + start, self._here + end - 1
            return self._ends[first] - len(self._words[first]), self._ends[last]
        first = self._here + sum(word not in _MARKS for word in self._tokens[:start])
        last = first + sum(word not in _MARKS for word in self._tokens[start:end]) - 1
        return self._ends[first] - len(self._words[first]), self._ends[last]


def _findings(drafts: Sequence[Draft], text: _Text | None) -> list[Finding]:
    """What a sentence states, hosts before their guests."""
    stated: list[Finding] = []
    made: dict[Draft, Finding] = {}
    span = (0, 0)
    for draft in drafts:
        if text is not None:
            span = text.span(draft.start, draft.end)
        said = draft.said
        if draft.bare:
            finding = Finding(
                draft.concept,
                said != NEGATIVE,
                "hedged" if said == UNCERTAIN else "certain",
                _NO_SIDE, _NOWHERE, None, None, None, None, None, span,
            )  # fmt: skip
        else:
            finding = _finding(draft, made.get(draft.host) if draft.host is not None else None, span)
        made[draft] = finding
        if said == NEGATIVE or finding.concept not in STATED_ABSENT_ONLY:
            stated.append(finding)
            if finding.tip or (draft.before and draft.before[0].also):
                stated += _besides(draft, finding, drafts)
    return stated


def _besides(draft: Draft, finding: Finding, drafts: Sequence[Draft]) -> Iterator[Finding]:
    """What a finding's words name besides: a second organ, or a tube that is malpositioned."""
    if draft.before and draft.before[0].also:
        also = draft.before[0].also
        yield replace(finding, concept=ENLARGED[also] if finding.present else also)
    if finding.tip and _misplaced(finding) and all(one.concept != "device_malposition" for one in drafts):
        yield Finding("device_malposition", certainty=finding.certainty, span=finding.span)


def _misplaced(finding: Finding) -> bool:
    """Whether a tube ends where it must not; a place that has a distance is a landmark alone."""
    places = vocabulary.MISPLACED.get(finding.concept, frozenset())
    return finding.present and finding.tip in places and finding.tip_mm is None


class _Said:
    """What all the words of a finding say together.

    Args:
        meanings: of its words, in their order.
    """

    __slots__ = ("angle", "changes", "hints", "percent", "regions", "severity", "sides", "size_mm", "tip")

    def __init__(self, meanings: Iterable[Meaning]) -> None:
        self.sides, self.regions, self.hints = _NO_SIDE, _NOWHERE, _NOWHERE
        self.severity: int | None = None
        self.size_mm: float | None = None
        self.tip: str | None = None
        self.percent: float | None = None
        self.angle: float | None = None
        self.changes: set[str] = set()
        for one in meanings:
            if not one.says:
                continue
            if one.sides:
                self.sides |= one.sides
            if one.regions:
                self.regions |= one.regions
            if one.hints:
                self.hints |= one.hints
            if one.change:
                self.changes.add(one.change)
            if self.severity is None:
                self.severity = one.severity
            if one.tip:
                self.tip = one.tip
            if one.percent is not None:
                self.percent = one.percent
            if one.angle is not None:
                self.angle = one.angle
            if one.size_mm is not None:
                self.size_mm = one.size_mm if self.size_mm is None else max(self.size_mm, one.size_mm)


def _finding(draft: Draft, host: Finding | None, span: tuple[int, int]) -> Finding:
    """The finding of a draft."""
    said = _Said((*draft.before, *draft.after))
    sides, regions = said.sides, said.regions
    concept = draft.concept
    if concept in _REFINED:
        concept = _refined(concept, regions | said.hints)
    if draft.subject:
        subject = _Said(draft.subject)
        concept = _refined(concept, subject.regions | subject.hints)
        sides, regions = sides or subject.sides, regions or subject.regions
    if host is not None and not sides and not regions - _IMPLIED.get(concept, _NOWHERE):
        sides, regions = host.sides, host.regions
    if not sides and draft.plural:
        sides = _BOTH
    if concept == "support_device" and said.tip in vocabulary.VENOUS:
        concept = "central_line"
    tip = tip_mm = None
    size_mm = said.size_mm
    if concept in vocabulary.WITH_TIPS:
        tip = said.tip or _landmark(concept, regions)
        tip_mm, size_mm = size_mm, None
        if tip == "below_carina":
            tip, tip_mm = vocabulary.BELOW_CARINA.get(concept, "superior_vena_cava"), None
        elif tip in vocabulary.WIDE:
            tip_mm = None
        regions = _NOWHERE if tip else regions
    if concept in vocabulary.SIDELESS:
        sides = _NO_SIDE
    if concept in vocabulary.PLACELESS:
        regions = _NOWHERE
    elif implied := _IMPLIED.get(concept):
        regions = regions - implied
    if concept == "nodule" and size_mm is not None and size_mm >= _MASS_MM:
        concept = "mass"
    if concept == "vertebral_fracture" and "old" in said.hints:
        said.changes.add("unchanged")
    if "raised" in said.hints and draft.raised(described=concept in vocabulary.DENSITIES):
        said.changes.add("increased")
    return Finding(
        concept,
        draft.said != NEGATIVE,
        "hedged" if draft.said == UNCERTAIN else "certain",
        sides,
        regions,
        degree(concept, said.percent, said.angle) if said.severity is None else said.severity,
        size_mm,
        _change(said.changes, draft.said) if said.changes else None,
        tip,
        tip_mm,
        span,
    )


def _landmark(concept: str, regions: frozenset[str]) -> str | None:
    """The place of a tip that is named by a region ("at the level of the clavicles")."""
    if concept == "intra_aortic_balloon_pump" and "aortic_arch" in regions:
        return "aortic_knob"
    return "thoracic_inlet" if concept == "endotracheal_tube" and "clavicle" in regions else None


def _refined(concept: str, signs: frozenset[str]) -> str:
    """The concept that a concept and what stands around it name together."""
    while signs and concept in _REFINED:
        name = next((name for sign, name in _REFINED[concept] if sign in signs), None)
        if name is None:
            break
        concept = name
    return concept


def _change(changes: set[str], said: int) -> Change | None:
    """The change said of a finding; "no new effusion" compares nothing."""
    if said == NEGATIVE:
        return "resolved" if "resolved" in changes else None
    return next((change for change in _CHANGES if change in changes), None)


def merged(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Findings that a report states more than once, put together; in whatever order it states them.

    Args:
        findings: as its sentences state them.

    Returns:
        Of each concept, present or denied, one finding for every side and region that is stated, the most
        certain, large and severe that was said of it. What has neither side nor region says of the only
        one that has what it lacks, and nothing of several.
    """
    groups: dict[tuple[str, bool], list[Finding]] = {}
    for finding in findings:
        name = finding.concept, finding.present
        if name in groups:
            groups[name].append(finding)
        else:
            groups[name] = [finding]
    if len(groups) == len(findings):
        return tuple(findings)
    return tuple(one for group in groups.values() for one in (group if len(group) == 1 else _united(group)))


def _united(group: Sequence[Finding]) -> list[Finding]:
    """One concept's findings, put together."""
    places: dict[tuple[frozenset[Side], frozenset[str]], list[Finding]] = {}
    for finding in group:
        places.setdefault((finding.sides, finding.regions), []).append(finding)
    general = places.pop((_NO_SIDE, _NOWHERE), [])
    for sides, regions in sorted(places, key=lambda place: len(place[0]) + len(place[1])):
        wider = [key for key in places if key != (sides, regions) and sides <= key[0] and regions <= key[1]]
        if len(wider) == 1:  # "left effusion" beside "left basal effusion"
            places[wider[0]] += places.pop((sides, regions))
    for (sides, regions), left in [*places.items()]:
        right = places.get((frozenset({"right"}), regions)) if sides == {"left"} else None
        if right is not None and _alike(_one(left), _one(right)):
            both = places.setdefault((_BOTH, regions), [])
            both += [replace(one, sides=_BOTH) for one in (*left, *right)]
            del places[sides, regions], places[frozenset({"right"}), regions]
    if not places:
        return [_one(general)]
    if len(places) == 1:
        (place,) = places.values()
        return [_one(sorted([*place, *general], key=lambda finding: finding.span))]
    return [_one(place) for place in places.values()]


def _alike(one: Finding, other: Finding) -> bool:
    """Whether two findings differ in nothing but their side, so that they are one on both."""
    return one == replace(other, sides=one.sides)


def _one(same: Sequence[Finding]) -> Finding:
    """What several statements of one finding say together."""
    first = same[0]
    if len(same) == 1:
        return first
    where = max(same, key=lambda finding: len(finding.sides) + len(finding.regions))
    return Finding(
        first.concept,
        first.present,
        "certain" if any(one.certainty == "certain" for one in same) else "hedged",
        where.sides,
        where.regions,
        max((one.severity for one in same if one.severity is not None), default=None),
        max((one.size_mm for one in same if one.size_mm is not None), default=None),
        next((change for change in _CHANGES if any(one.change == change for one in same)), None),
        min((one.tip for one in same if one.tip), default=None),
        max((one.tip_mm for one in same if one.tip_mm is not None), default=None),
        first.span,
    )
