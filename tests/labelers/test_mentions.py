"""Where in a report the rules find what they say of it."""

from __future__ import annotations

import pytest

from radrl.labelers.rules.labeler import RulesLabeler
from radrl.labelers.rules.mentions import mentions
from radrl.observations import INDEX, NEGATIVE, OBSERVATIONS, POSITIVE, UNCERTAIN


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (
            "Mild edema. No effusion.",
            [("edema", "Edema", POSITIVE), ("effusion", "Pleural Effusion", NEGATIVE)],
        ),
        ("MILD  EDEMA,\nunchanged", [("EDEMA", "Edema", POSITIVE)]),
        ("Edema. Edema.", [("Edema", "Edema", POSITIVE)] * 2),
        ("Possible pneumonia.", [("pneumonia", "Pneumonia", UNCERTAIN)]),
        ("The heart is enlarged.", [("heart is enlarged", "Cardiomegaly", POSITIVE)]),
        ("Enlarged heart.", [("Enlarged heart", "Cardiomegaly", POSITIVE)]),
        ("", []),
        ("Nothing to say.", []),
    ],
)
def test_phrases_stand_where_they_are_spelled(report: str, expected: list[tuple[str, str, int]]) -> None:
    found = [
        (report[one.start : one.end], OBSERVATIONS[one.observations[0]], one.said) for one in mentions(report)
    ]
    assert found == expected


def test_alternatives_are_read_as_asked() -> None:
    report = "Edema or pneumonia."
    assert {one.said for one in mentions(report)} == {UNCERTAIN}
    assert {one.said for one in mentions(report, alternatives=POSITIVE)} == {POSITIVE}


def test_a_text_whose_letters_change_their_number_has_none() -> None:
    assert mentions("\u0130 Edema.") == []  # a dotted capital I is two characters in lower case


def test_what_is_marked_as_there_is_what_the_labeler_says() -> None:
    report = (
        "AP view. The heart is mildly enlarged. There is a small left pleural effusion, no pneumothorax. "
        "Bibasilar atelectasis or consolidation. A right PICC terminates in the SVC."
    )
    labels = RulesLabeler().label([report])[0]
    for one in mentions(report):
        if one.said != NEGATIVE:
            for index in one.observations:
                assert labels[index] == one.said, OBSERVATIONS[index]
    named = {index for one in mentions(report) for index in one.observations}
    assert {INDEX["Cardiomegaly"], INDEX["Pleural Effusion"], INDEX["Support Devices"]} <= named
