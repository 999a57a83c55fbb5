"""A judge's answers: what is read, and what is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.observations import INDEX, OBSERVATIONS
from radrl.scoring.facts import Ruling, Verdict
from radrl.scoring.facts.build import FACTS_SCHEMA, RULINGS_SCHEMA, AnswerError, read_facts, read_rulings

SILENT = {"facts": [], "verdict": "silent"}
RULINGS = dict.fromkeys(OBSERVATIONS, SILENT)


def rulings(**changes):
    return json.dumps(RULINGS | {name.replace("_", " "): value for name, value in changes.items()})


def test_facts_are_read_each_once_without_blanks_around():
    assert read_facts('{"facts": ["no edema", " no edema ", "effusion\\n"]}') == ("no edema", "effusion")
    assert read_facts('{"facts": []}') == ()


def test_json_alone_in_a_block_is_json():
    assert read_facts('```json\n{"facts": ["a"]}\n```\n') == ("a",)
    assert read_facts('```\n{"facts": ["a"]}\n```') == ("a",)


def test_rulings_are_read_and_renumbered():
    read = read_rulings(
        rulings(
            Edema={"facts": [2, 1, 2], "verdict": "supported"},
            Fracture={"verdict": "contradicted", "facts": [3]},
            Pneumonia={"facts": [1], "verdict": "silent"},
        ),
        3,
    )
    assert len(read) == 14
    assert read[INDEX["Edema"]] == Ruling(Verdict.SUPPORTED, (0, 1))
    assert read[INDEX["Fracture"]] == Ruling(Verdict.CONTRADICTED, (2,))
    assert read[INDEX["Pneumonia"]] == read[INDEX["No Finding"]] == Ruling(Verdict.SILENT)


BROKEN = [
    ("", "it is no JSON"),
    ("I'm sorry, I cannot help with that.", "it is no JSON"),
    ('{"facts": ["no ede', "it is no JSON .*character 12, of 18 characters"),
    ('Here they are: {"facts": []}', "it is no JSON"),
    ('```json\n{"facts": []}\n```\nThese are all.', "it is no JSON"),
    ('{"facts": []} {"facts": []}', "it is no JSON"),
    ("null", "the whole: Input should be"),
    ("[]", "the whole: Input should be"),
    ("{}", "facts: Field required"),
    ('{"fact": []}', "facts: Field required"),
    ('{"facts": [], "note": "x"}', "note: Extra inputs are not permitted"),
    ('{"facts": "no edema"}', "facts: Input should be a valid list"),
    ('{"facts": ["a", 1]}', "facts.1: Input should be a valid string"),
    ('{"facts": [null]}', "facts.0: Input should be a valid string"),
    ('{"facts": ["a", " "]}', "facts.1 is blank"),
    ('{"facts": ["a"], "facts": ["b"]}', "the key 'facts' is there twice"),
    ('{"facts": [' + "1" * 5000 + "]}", "a number of more digits than can be read"),
    ('{"facts": ' + "[" * 100_000, "brackets in brackets without end"),
]


@pytest.mark.parametrize(("answer", "message"), BROKEN)
def test_what_is_no_list_of_facts_is_refused(answer, message):
    with pytest.raises(AnswerError, match=message):
        read_facts(answer)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (json.dumps(dict.fromkeys(OBSERVATIONS[1:], SILENT)), "Enlarged Cardiomediastinum: Field required"),
        (rulings(Emphysema=SILENT), "Emphysema: Extra inputs"),
        (rulings(edema=SILENT), "edema: Extra inputs"),
        (rulings(Edema="supported"), "Edema: Input should be"),
        (rulings(Edema={"facts": []}), "Edema.verdict: Field required"),
        (rulings(Edema={"verdict": "silent"}), "Edema.facts: Field required"),
        (rulings(Edema={"facts": [], "verdict": "Silent"}), "Edema.verdict: Input should be 'supported'"),
        (rulings(Edema={"facts": [], "verdict": "unknown"}), "Edema.verdict: Input should be 'supported'"),
        (rulings(Edema={"facts": [], "verdict": None}), "Edema.verdict: Input should be 'supported'"),
        (rulings(Edema={"facts": [1.0], "verdict": "supported"}), "Edema.facts.0: Input should be a valid"),
        (rulings(Edema={"facts": ["1"], "verdict": "supported"}), "Edema.facts.0: Input should be a valid"),
        (rulings(Edema={"facts": [True], "verdict": "supported"}), "Edema.facts.0: Input should be a valid"),
        (rulings(Edema={"facts": [], "verdict": "supported"}), "Edema is supported by no fact"),
        (rulings(Edema={"facts": [], "verdict": "contradicted"}), "Edema is contradicted by no fact"),
        (rulings(Edema={"facts": [3], "verdict": "supported"}), "Edema rests on fact 3 of 2"),
        (rulings(Edema={"facts": [0], "verdict": "supported"}), "Edema rests on fact 0 of 2"),
        (rulings()[:-1] + ', "Edema": {"facts": [1], "verdict": "supported"}}', "'Edema' is there twice"),
        (rulings()[:-40], "it is no JSON"),
    ],
)  # fmt: skip
def test_what_are_no_14_rulings_is_refused(answer, message):
    with pytest.raises(AnswerError, match=message):
        read_rulings(answer, 2)


@given(cut=st.integers(0, len(rulings()) - 1))
def test_no_part_of_an_answer_is_an_answer(cut):
    with pytest.raises(AnswerError):
        read_rulings(rulings()[:cut], 2)


def test_messages_quote_no_value():
    for answer in ('{"facts": "MRS SMITH"}', '{"facts": [{"MRS": "SMITH"}]}', '{"facts": ["MRS SMITH'):
        with pytest.raises(AnswerError) as refused:
            read_facts(answer)
        assert "SMITH" not in str(refused.value)


def test_schemas_leave_nothing_open():
    """What servers' strict mode asks for: every property required, and no other allowed."""
    for schema in (FACTS_SCHEMA, RULINGS_SCHEMA, *RULINGS_SCHEMA["$defs"].values()):
        assert schema["additionalProperties"] is False
        assert schema["required"] == list(schema["properties"])
    assert RULINGS_SCHEMA["required"] == list(OBSERVATIONS)
    assert all("description" not in schema for schema in (FACTS_SCHEMA, RULINGS_SCHEMA))
