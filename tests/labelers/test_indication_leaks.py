"""What reasons for studies foretell, counted by hand."""

from __future__ import annotations

from radrl.labelers.indication_leaks import FEWEST, MOST, count_leaks, warned_of
from radrl.labelers.rules.labeler import RulesLabeler

EFFUSION, CLEAR = "There is a left pleural effusion.", "The lungs are clear."


def test_leaks_are_counted_by_finding() -> None:
    pairs = [
        ("Known effusion.", EFFUSION),  # named and there
        ("Follow-up of effusion.", CLEAR),  # named and gone
        ("Evaluate for effusion.", EFFUSION),  # asked after, which is not stated
        ("Cough.", EFFUSION),
        ("No pneumothorax before.", CLEAR),  # denied, and in no report
    ]
    indications, reports = map(list, zip(*pairs, strict=True))
    assert count_leaks(indications, reports, RulesLabeler()) == {
        "Pleural Effusion": {"reports": 3, "named": 1, "indications": 2}
    }


def test_warned_of_is_what_many_reports_have_too_often_the_greatest_first() -> None:
    def leak(reports: int, named: int) -> dict[str, int]:
        return {"reports": reports, "named": named, "indications": named}

    leaks = {
        "Edema": leak(100, 10),  # as much as is borne
        "Pneumonia": leak(100, 11),
        "Fracture": leak(FEWEST - 1, FEWEST - 1),  # too few to tell
        "Pleural Effusion": leak(FEWEST, FEWEST // 2),
    }
    assert MOST == 0.1
    assert list(warned_of(leaks).items()) == [("Pleural Effusion", 0.5), ("Pneumonia", 0.11)]  # type: ignore[arg-type]
