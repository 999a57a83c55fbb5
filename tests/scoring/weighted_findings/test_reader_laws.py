"""What holds of the reader whatever the report, and of the tables that it reads by."""

from __future__ import annotations

import csv
from importlib.resources import files
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.labelers.rules.phrases import spelled
from radrl.labelers.rules.text import sentences
from radrl.observations import OBSERVATIONS
from radrl.scoring.weighted_findings import sentence, vocabulary
from radrl.scoring.weighted_findings.assertions import by_rules
from radrl.scoring.weighted_findings.reader import findings_of, merged, statements_of

TABLES = files("radrl.scoring.weighted_findings")
CONCEPTS = {
    row["concept"]: row
    for row in csv.DictReader((TABLES / "concepts.csv").read_text(encoding="utf-8").splitlines())
}
REGIONS = {
    row["region"]: row
    for row in csv.DictReader((TABLES / "regions.csv").read_text(encoding="utf-8").splitlines())
}
SENTENCES = (
    "Small left pleural effusion, unchanged.",
    "Left basal effusion.",
    "Large right effusion.",
    "Bilateral effusions.",
    "No effusion or pneumothorax.",
    "The lungs are clear.",
    "Heart size is normal.",
    "Moderate cardiomegaly.",
    "The endotracheal tube ends 4 cm above the carina.",
    "Right PICC with tip in the mid SVC.",
    "Left lower lobe opacity may represent pneumonia or atelectasis.",
    "6 mm nodule in the right upper lobe.",
    "1.5 cm nodule in the right upper lobe, increased.",
    "Possible nodule.",
    "The aorta is tortuous and calcified.",
    "Old healed left rib fractures.",
    "No change in the bibasilar atelectasis.",
    "The right effusion has resolved.",
)
CUES = """
    no without not and or , with of in which may possible normal enlarged clear heart lungs hila is are seen
    unlikely excluded cannot be resolved stable new old calcified elevated both base the effusion edema mass
    tube tip 3 cm mm above ( ) / : evaluate for however
"""
WORDS = sorted({*CUES.split(), *(word.strip(".,") for said in SENTENCES for word in said.lower().split())})


def once(report):
    """Findings whatever their order and their places in the report."""
    return sorted(
        map(
            repr,
            (
                (
                    f.concept,
                    f.present,
                    f.certainty,
                    sorted(f.sides),
                    sorted(f.regions),
                    f.severity,
                    f.size_mm,
                    f.change,
                    f.tip,
                    f.tip_mm,
                )
                for f in findings_of(report)
            ),
        )
    )


@given(st.text())
def test_any_text_is_read(text):
    for one in findings_of(text):
        assert one.concept in CONCEPTS


@given(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join))
def test_any_row_of_words_is_read_into_known_names(text):
    for one in findings_of(text):
        assert one.concept in CONCEPTS
        assert one.sides <= {"left", "right"}
        assert one.regions <= REGIONS.keys()
        assert one.tip is None or one.tip in REGIONS
        assert one.severity in (None, 0, 1, 2, 3)
        start, end = one.span
        assert 0 <= start < end <= len(text)


@given(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join))
def test_shapes_that_need_no_rules_are_what_the_rules_say(text):
    quick = list(statements_of(text))
    with (
        mock.patch.object(sentence, "assertions", lambda words, parts, bits: by_rules(words, parts)),
        mock.patch.object(sentence, "all_normal", return_value=False),
    ):
        assert list(statements_of(text)) == quick


def stated(report, **how):
    """What a report states, and whether it denies anything."""
    found = findings_of(report, **how)
    return [one for one in found if one.present], all(one.present for one in found)


@given(st.lists(st.sampled_from((*SENTENCES, *CUES.split(), *WORDS)), max_size=25).map(" ".join))
def test_in_brief_it_states_the_same(text):
    assert stated(text, brief=True) == stated(text)


@given(st.permutations(SENTENCES), st.integers(1, len(SENTENCES)))
def test_the_order_of_sentences_does_not_matter(order, count):
    chosen = order[:count]
    assert once(" ".join(chosen)) == once(" ".join(sorted(chosen)))


@given(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=4))
def test_saying_it_twice_says_it_once(chosen):
    report = " ".join(chosen)
    assert once(f"{report} {report}") == once(report)


@given(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=6))
def test_what_is_put_together_stays_so(chosen):
    findings = findings_of(" ".join(chosen))
    assert set(merged(findings)) == set(findings)


@pytest.mark.parametrize("said", SENTENCES)
def test_case_and_line_breaks_do_not_matter(said):
    assert once(said.upper()) == once(said) == once(said.replace(" ", "\n"))


@pytest.mark.parametrize(
    "concept", [c for c in vocabulary.CONCEPTS if c not in vocabulary.STATED_ABSENT_ONLY]
)
def test_every_phrase_of_a_concept_reads_the_same(concept):
    """Whatever it is called it is that concept, or the one that its words make of it ("rib fracture")."""
    names, grown = {concept}, set()
    while names != grown:
        grown = set(names)
        names |= {name for one, _, name in vocabulary.REFINED if one in names}
    for phrase in map(" ".join, spelled(vocabulary.CONCEPTS[concept])):
        stated = [one.concept for one in findings_of(f"There is {phrase}.") if one.present]
        assert len(stated) == 1, (phrase, stated)
        assert stated[0] in names, phrase


@pytest.mark.parametrize("concept", ["pleural_effusion", "pneumothorax", "cardiomegaly", "picc", "scoliosis"])
def test_every_phrase_of_a_concept_can_be_denied(concept):
    for phrase in map(" ".join, spelled(vocabulary.CONCEPTS[concept])):
        if not {" is ", " are ", " appear "} & {f" {word} " for word in phrase.split()}:
            found = findings_of(f"There is no {phrase}.")
            assert [(one.concept, one.present) for one in found] == [(concept, False)], phrase


@pytest.mark.parametrize("organ", vocabulary.ORGANS)
def test_a_normal_organ_is_nothing_that_is_there(organ):
    for phrase in map(" ".join, spelled(vocabulary.ORGANS[organ])):
        found = findings_of(f"The {phrase} is normal.")
        assert [one.present for one in found] == [False], phrase


def test_no_phrase_names_two_concepts():
    named = {}
    for concept, lines in vocabulary.CONCEPTS.items():
        for phrase in map(" ".join, spelled(lines)):
            assert named.setdefault(phrase, concept) == concept, phrase


def test_the_tables_hold_together():
    for table in (CONCEPTS, REGIONS):
        for name in table:
            above = [name]
            while parent := table[above[-1]]["parent"]:
                assert parent in table
                assert parent not in above, f"{name} is its own parent"
                above.append(parent)
    assert {row["kind"] for row in CONCEPTS.values()} == {"finding", "device", "variant"}
    assert {row["kind"] for row in REGIONS.values()} == {"lobe", "zone", "place", "tip"}
    assert {row["chexpert"] for row in CONCEPTS.values()} <= {"", *OBSERVATIONS}
    assert {row["chexpert"] for row in CONCEPTS.values()} >= set(OBSERVATIONS[:-1])


def test_the_words_name_what_the_tables_hold():
    refined = {name for _, _, name in vocabulary.REFINED}
    assert vocabulary.CONCEPTS.keys() | refined == CONCEPTS.keys()
    named = {
        *vocabulary.ORGANS,
        *vocabulary.REVERSED,
        *vocabulary.ENLARGED.values(),
        *vocabulary.OF_OBSERVATION.values(),
        *vocabulary.STATED_ABSENT_ONLY,
        *(concept for concept, _, _ in vocabulary.REFINED),
        *vocabulary.IMPLIED,
        *vocabulary.DENSITIES,
        *vocabulary.OPACITIES,
        *vocabulary.EXPLANATIONS,
        *vocabulary.SIDELESS,
        *vocabulary.PLACELESS,
        *vocabulary.WITH_TIPS,
        *vocabulary.MISPLACED,
    }
    assert named <= CONCEPTS.keys()
    regions = {region for _, names in vocabulary.REGIONS for region in names.split()}
    assert regions <= REGIONS.keys()
    assert vocabulary.TIPS.keys() <= REGIONS.keys()
    assert {sign for _, sign, _ in vocabulary.REFINED} <= REGIONS.keys() | vocabulary.HINTS.keys()
    assert {one for names in vocabulary.IMPLIED.values() for one in names.split()} <= REGIONS.keys()


def test_a_sentence_is_read_apart_from_the_others():
    report = " ".join(SENTENCES)
    assert len(sentences(report)) == len(SENTENCES)
    apart = [one for said in SENTENCES for one in statements_of(said)]
    assert list(statements_of(report)) == apart
