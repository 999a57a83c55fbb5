"""What must hold of the score whatever reports say, on texts; of findings alone `test_matching` holds it."""

from __future__ import annotations

import random
from functools import cache

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from radrl.labelers.rules import fold
from radrl.labelers.rules.phrases import spelled
from radrl.scoring.weighted_findings import Finding, vocabulary
from radrl.scoring.weighted_findings.reader import findings_of
from radrl.scoring.weighted_findings.score import WeightedFindings
from radrl.scoring.weighted_findings.tables import UNKNOWN, default

SCORER = WeightedFindings()
NORMAL = "Heart size is normal. No acute disease."
STATED = (
    "Small left pleural effusion.",
    "Possible right lower lobe pneumonia.",
    "Opacity at the left base, likely atelectasis.",
    "The heart is moderately enlarged.",
    "12 mm nodule in the right upper lobe, previously 8 mm.",
    "The endotracheal tube ends 4 cm above the carina.",
    "Calcified granuloma.",
    "Mild scoliosis.",
    "Old left rib fractures.",
    "No pneumothorax.",
    "The lungs are clear.",
)
CONCEPTS = sorted(set(vocabulary.CONCEPTS) - vocabulary.STATED_ABSENT_ONLY)
reports = st.lists(st.sampled_from(STATED), max_size=5, unique=True)


def text(sentences: list[str]) -> str:
    """A report, which is never silent."""
    return " ".join([*sentences, NORMAL])


def score(reference: str, hypothesis: str) -> float:
    return SCORER.costs(reference, hypothesis).score


QUALITIES = {
    word
    for table in ("SIDES", "REGIONS", "HINTS", "SEVERITIES", "CHANGES", "TIPS")
    for lines in getattr(vocabulary, table).values()
    for phrase in spelled(lines, fold)
    for word in phrase
}
"""Words that say more than a name."""


@cache
def plain(concept: str) -> tuple[str, ...]:
    """Sentences that state a concept by the phrases of the lexicon that have no word of a quality."""
    named = spelled(vocabulary.CONCEPTS[concept])
    return tuple(f"There is {' '.join(one)}." for one in named if QUALITIES.isdisjoint(map(fold, one)))


def unlike(concept: str, *texts: str) -> bool:
    """Whether a concept has nothing to do with what texts say."""
    like = default().like[concept]
    return all(one.concept not in like for said in texts for one in findings_of(said))


def weight(concept: str) -> float:
    return default().weight(Finding(concept), UNKNOWN)


def test_there_are_phrases_enough() -> None:
    assert sum(len(plain(one)) for one in CONCEPTS) > 1500
    assert sum(len(plain(one)) > 1 for one in CONCEPTS) > 100


@pytest.mark.parametrize("concept", [one for one in CONCEPTS if plain(one)])
def test_any_phrase_of_a_concept_scores_1_against_any_other(concept: str) -> None:
    first = text([plain(concept)[0]])
    assert {score(first, text([one])) for one in plain(concept)} == {1.0}
    assert {score(text([one]), NORMAL) for one in plain(concept)} == {score(first, NORMAL)}


@given(reports, reports, st.sampled_from(CONCEPTS), st.data())
def test_a_false_finding_more_never_raises_it(
    truth: list[str], said: list[str], concept: str, data: st.DataObject
) -> None:
    reference, hypothesis = text(truth), text(said)
    assume(plain(concept) and unlike(concept, reference, hypothesis))
    more = text([*said, data.draw(st.sampled_from(plain(concept)))])
    assert score(reference, more) <= score(reference, hypothesis)
    if weight(concept) and score(reference, hypothesis) > 0:
        assert score(reference, more) < score(reference, hypothesis)


@given(reports, reports, st.sampled_from(CONCEPTS), st.sampled_from(CONCEPTS))
def test_a_heavier_false_finding_never_costs_less(
    truth: list[str], said: list[str], one: str, other: str
) -> None:
    reference = text(truth)
    light, heavy = sorted((one, other), key=weight)
    for concept in (light, heavy):
        assume(plain(concept) and unlike(concept, reference, text(said)))
    scores = [score(reference, text([*said, plain(concept)[0]])) for concept in (light, heavy)]
    assert scores[1] <= scores[0]
    if weight(light) < weight(heavy):
        assert scores[1] < scores[0]


@given(reports, reports, st.randoms())
def test_the_order_of_sentences_does_not_matter(
    truth: list[str], said: list[str], draws: random.Random
) -> None:
    mixed = [draws.sample(one, len(one)) for one in (truth, said)]
    assert score(text(mixed[0]), text(mixed[1])) == score(text(truth), text(said))


@given(reports, reports, st.sampled_from(CONCEPTS), st.data())
def test_a_paraphrase_from_the_lexicon_changes_nothing(
    truth: list[str], said: list[str], concept: str, data: st.DataObject
) -> None:
    assume(len(plain(concept)) > 1)
    one, other = (data.draw(st.sampled_from(plain(concept))) for _ in range(2))
    assert score(text([*truth, one]), text([*truth, other])) == 1
    assert score(text(truth), text([*said, one])) == score(text(truth), text([*said, other]))
    assert score(text([*truth, one]), text(said)) == score(text([*truth, other]), text(said))


FRAMES = (
    "There is no absence of {}.",
    "There is no lack of {}.",
    "The chest is not without {}.",
    "The chest is not free of {}.",
    "It is not true that there is no {}.",
    "It is not the case that there is no {}.",
    "It cannot be said that there is no {}.",
    "The film does not lack {}.",
)
DENIED_ONCE = ("There is no {}.", "The chest is without {}.", "Absence of {}.", "It is free of {}.")
NAMES = (
    "pleural effusion",
    "pneumothorax",
    "consolidation",
    "a nodule",
    "rib fracture",
    "cardiomegaly",
    "scoliosis",
)


@given(reports, st.sampled_from(NAMES), st.sampled_from(FRAMES), st.sampled_from(DENIED_ONCE))
def test_negation_twice_is_none(truth: list[str], name: str, twice: str, once: str) -> None:
    reference, stated = text(truth), f"There is {name}."
    assert findings_of(twice.format(name)) == findings_of(stated)
    assert score(reference, text([*truth, twice.format(name)])) == score(reference, text([*truth, stated]))
    assert not any(one.present for one in findings_of(once.format(name)))
    assert score(text([stated]), once.format(name)) < 1  # and once is one


@pytest.mark.parametrize("name", NAMES)
def test_a_denial_is_told_from_what_it_denies(name: str) -> None:
    assert score(text([f"There is {name}."]), text([f"There is no {name}."])) < 1
    assert score(text([f"There is no {name}."]), text([f"There is no {name}."])) == 1
