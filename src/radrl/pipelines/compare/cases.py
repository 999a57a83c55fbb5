"""Films with their reports, each finding marked where the text speaks of it.

The chips below a report are the labeler's and count; the marks are phrases found by rules, whoever read the
labels, and show where. A finding that a report denies although the reference has it is marked as missed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from radrl.labelers.rules.mentions import Mention, mentions
from radrl.observations import NEGATIVE, OBSERVATIONS
from radrl.pages.examples import Answer, Chip, Example

_WORST_FIRST: Final = ("wrong", "missed", "hedged", "right", "stated")


@dataclass(frozen=True, slots=True)
class Piece:
    """Some characters of a report.

    Args:
        text: the characters.
        verdict: of the findings they speak of; nothing for all other characters.
        says: the findings with their verdicts, in words.
    """

    text: str
    verdict: str = ""
    says: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """One report on a film.

    Args:
        arms: who wrote it, word for word; nobody for the reference.
        pieces: the report, whose texts joined give it.
        chips: its observations, held against the reference's.
        facts: as `Answer.facts`.
    """

    arms: Sequence[str]
    pieces: Sequence[Piece]
    chips: Sequence[Chip]
    facts: Sequence[Any] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """A film with all reports on it.

    Args:
        sample_id: its id.
        pictures: the films as data URIs.
        reference: the true report.
        readings: the generated ones, each once.
    """

    sample_id: str
    pictures: Sequence[str]
    reference: Reading
    readings: Sequence[Reading]


def case(example: Example, *, alternatives: int) -> Case:
    """Mark the reports on a film, and tell a report that several arms wrote once.

    Args:
        example: the film and its reports, the reference first.
        alternatives: as `radrl.labelers.rules.mentions.mentions` takes it.

    Returns:
        The film.
    """
    reference, *answers = example.answers
    alike: dict[tuple[str, tuple[Any, ...]], list[Answer]] = {}
    for answer in answers:
        alike.setdefault((answer.text, tuple(map(str, answer.facts))), []).append(answer)
    readings = [
        Reading([str(one.arm) for one in own], _marked(own[0], alternatives), own[0].chips, own[0].facts)
        for own in alike.values()
    ]
    shown = Reading([], _marked(reference, alternatives), reference.chips)
    return Case(example.sample_id, example.pictures, shown, readings)


def _marked(answer: Answer, alternatives: int) -> list[Piece]:
    verdicts = {chip.observation.removesuffix("?"): chip.verdict for chip in answer.chips}
    return marked(answer.text, mentions(answer.text, alternatives=alternatives), verdicts)


def marked(text: str, found: Sequence[Mention], verdicts: Mapping[str, str]) -> list[Piece]:
    """Cut a report at the phrases that speak of a finding with a verdict.

    Args:
        text: the report.
        found: its mentions, left to right.
        verdicts: right, hedged, missed, wrong or stated, by observation.

    Returns:
        Pieces whose texts, joined, are the report; a phrase within another one is not cut out of it.
    """
    pieces: list[Piece] = []
    at = 0
    for mention in found:
        own = _verdicts(mention, verdicts)
        if not own or mention.start < at:
            continue
        if text[at : mention.start]:
            pieces.append(Piece(text[at : mention.start]))
        worst = min(own.values(), key=_WORST_FIRST.index)
        says = ", ".join(f"{name}: {verdict}" for name, verdict in own.items())
        pieces.append(Piece(text[mention.start : mention.end], worst, says))
        at = mention.end
    return [*pieces, Piece(text[at:])] if text[at:] else pieces


def _verdicts(mention: Mention, verdicts: Mapping[str, str]) -> dict[str, str]:
    """Findings of a phrase with verdicts: a denied one counts as missed alone, an asserted one never."""
    names = [OBSERVATIONS[index] for index in mention.observations]
    own = {name: verdicts[name] for name in names if name in verdicts}
    denied = mention.said == NEGATIVE
    return {name: verdict for name, verdict in own.items() if (verdict == "missed") == denied}
