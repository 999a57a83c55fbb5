"""FactS without a model: facts from the rules' reading of a report, verdicts from the rule labeler.

The paper asks GPT-4.1 for both (OraPO, section 3.3). Here a fact is one finding as one sentence states it,
written anew in a fixed order of words, and the rule labeler reads each fact by itself. So what neither
knows by name is no fact, and a report's facts never say more than its sentences one by one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Final

from radrl.labelers.rules.labeler import RulesLabeler
from radrl.labelers.rules.text import sentences, unfolded
from radrl.observations import NEGATIVE, NO_FINDING, POSITIVE, SUPPORT_DEVICES, UNCERTAIN
from radrl.scoring.facts import Facts, Failure, Ruling, Rulings, Verdict
from radrl.scoring.rules.reading import STUDY, Finding, read
from radrl.scoring.rules.sentence import parse
from radrl.scoring.rules.vocabulary import RESOLVED, Mention

CACHED: Final = 32_768
"""Sentences, and facts, remembered; rollouts of one film repeat theirs."""

_CERTAINTY: Final = {"present": "", "absent": "no", "uncertain": "possible"}
_ZONES: Final = frozenset({"upper", "middle", "lower", "retrocardiac"})
"""Places that are adjectives."""


class RulesExtractor:
    """One fact a finding and sentence, in the order of the report, each once.

    Certainty, change, severity, side, the finding and its places, as `radrl.scoring.rules.reading` reads
    them: "unchanged small left pleural effusion", "possible right pneumonia in the lower zone". A
    normal statement is the denial of what it excludes ("no cardiomegaly" for "heart size is normal"). A
    comparison of the study as a whole is no finding, and no fact.

    Example:
        >>> RulesExtractor().extract(["Heart size is normal. Small left effusion, no pneumothorax."])
        [('no cardiomegaly', 'small left effusion', 'no pneumothorax')]
    """

    name = "rules"
    about: Final[dict[str, str]] = {}

    def extract(self, reports: Sequence[str]) -> list[Facts | Failure]:
        """See `radrl.scoring.facts.Extractor`; rules read every text, so none fails."""
        return [tuple(dict.fromkeys(_facts(report))) for report in reports]


def _facts(report: str) -> Iterator[str]:
    cut = sentences(report)
    for number, findings in itertools.groupby(read(report), key=attrgetter("sentence")):
        yield from _worded(cut[number], tuple(finding._replace(sentence=0) for finding in findings))


@lru_cache(maxsize=CACHED)
def _worded(sentence: str, findings: tuple[Finding, ...]) -> Facts:
    """The facts of one sentence from its findings, which come in the order of its mentions."""
    words = unfolded(sentence)
    stated = [finding for finding in findings if finding.name != STUDY]
    mentions = parse(sentence).mentions
    return tuple(_fact(*pair, words) for pair in zip(stated, mentions, strict=True))


def _fact(finding: Finding, mention: Mention, words: Sequence[str]) -> str:
    """A finding in words, such as "unchanged small left pleural effusion"."""
    noun = _noun(mention, words)
    said, change = _CERTAINTY[finding.polarity], finding.change
    if change == RESOLVED:  # of a finding that is there ("has not resolved") the word would deny it
        said, change = (RESOLVED, "") if finding.polarity == "absent" else (said, "")
    before = [said, change, finding.severity, finding.side]
    places = [f"{place} zone" if place in _ZONES else place for place in finding.places if place not in noun]
    after = f"in the {' and '.join(places)}" if places else ""
    return " ".join(part for part in (*before, noun, after) if part)


def _noun(mention: Mention, words: Sequence[str]) -> str:
    """What a finding is called: as the report does, unless the labeler knows neither that nor the name.

    The report's words may say two things ("nodular opacity" is one nodule to the reading, Lung Lesion and
    Lung Opacity to the labeler), and what the labeler does not read in them no fact may add.
    """
    if mention.normal:
        return mention.name
    look = () if mention.look is None else words[slice(*mention.look)]
    own = " ".join((*look, *words[mention.start : mention.end]))
    return own if _claims(own) or _claims(mention.name) else mention.name


class RulesEntailment:
    """The rule labeler reads each fact; among them a present finding beats a hedged, and that a denied one.

    No Finding is supported where there are facts and none asserts or hedges an observation but Support
    Devices or another finding (emphysema, scoliosis, ...), as the labeler gives it, and contradicted by those
    that assert one.

    Args:
        uncertain_as_positive: whether a hedged fact supports its observation (and contradicts No Finding);
            where not, it is silent.

    Example:
        >>> rulings = RulesEntailment(uncertain_as_positive=False).entail([("no edema", "left effusion")])[0]
        >>> [ruling.verdict.name for ruling in rulings if ruling.verdict]  # Edema, effusion, No Finding
        ['CONTRADICTED', 'SUPPORTED', 'CONTRADICTED']
    """

    name = "rules"
    about: Final[dict[str, str]] = {}

    def __init__(self, *, uncertain_as_positive: bool) -> None:
        self.uncertain_as_positive = uncertain_as_positive

    def entail(self, facts: Sequence[Facts], reports: Sequence[str] = ()) -> list[Rulings | Failure]:
        """See `radrl.scoring.facts.Entailment`; rules judge every fact, so none fails."""
        return [self._rulings(own) for own in facts]

    def _rulings(self, facts: Facts) -> Rulings:
        said: dict[tuple[int, int], list[int]] = {}
        for number, fact in enumerate(facts):
            for claim in _claims(fact):
                said.setdefault(claim, []).append(number)
        rulings = [self._ruling(said, observation) for observation in range(NO_FINDING)]
        return (*rulings, self._no_finding(said, len(facts)))

    def _ruling(self, said: dict[tuple[int, int], list[int]], observation: int) -> Ruling:
        if asserting := said.get((observation, POSITIVE)):
            return Ruling(Verdict.SUPPORTED, tuple(asserting))
        if hedging := said.get((observation, UNCERTAIN)):
            return Ruling(Verdict.SUPPORTED, tuple(hedging)) if self.uncertain_as_positive else _SILENT
        if denying := said.get((observation, NEGATIVE)):
            return Ruling(Verdict.CONTRADICTED, tuple(denying))
        return _SILENT

    def _no_finding(self, said: dict[tuple[int, int], list[int]], facts: int) -> Ruling:
        found = {claim: numbers for claim, numbers in said.items() if claim[0] != SUPPORT_DEVICES}
        against = (POSITIVE, UNCERTAIN) if self.uncertain_as_positive else (POSITIVE,)
        contradicting = {n for (_, as_), numbers in found.items() if as_ in against for n in numbers}
        if contradicting:
            return Ruling(Verdict.CONTRADICTED, tuple(sorted(contradicting)))
        if not facts or any(as_ == UNCERTAIN for _, as_ in found):
            return _SILENT
        return Ruling(Verdict.SUPPORTED, tuple(range(facts)))


_SILENT: Final = Ruling(Verdict.SILENT)
_LABELER: Final = RulesLabeler(cache_size=0)  # what it says of a fact is remembered here


@lru_cache(maxsize=CACHED)
def _claims(fact: str) -> tuple[tuple[int, int], ...]:
    """(observation, class) of what the labeler reads in a fact; No Finding's are the other findings."""
    return tuple(
        (observation, said) for observation, said in enumerate(_LABELER.read_statements(fact)) if said
    )
