from typing import get_args

import pytest

from radrl.data.quarantine import REASONS, Quarantine, Reason, Refusal, TooManyQuarantined, schema


def filled() -> Quarantine:
    quarantine = Quarantine()
    for number in range(4):
        quarantine.add(Refusal(f"row {number}", "missing_image", "no such file", image=f"{number}.png"))
    quarantine.add(Refusal("row 9", "empty_report", "no words", study_id="s9"))
    return quarantine


def test_every_reason_is_explained():
    assert set(REASONS) == set(get_args(Reason))


def test_counts_and_table_hold_every_refusal():
    quarantine = filled()
    assert len(quarantine) == 5
    assert list(quarantine.counts().items()) == [("missing_image", 4), ("empty_report", 1)]
    table = quarantine.table()
    assert table.schema == schema()
    assert table.to_pylist()[4] == {
        "source_key": "row 9",
        "study_id": "s9",
        "image": None,
        "reason": "empty_report",
        "detail": "no words",
    }


def test_empty_quarantine_is_an_empty_table_with_the_same_columns():
    assert Quarantine().table().schema == schema()
    assert Quarantine().table().num_rows == 0


def test_summary_shows_counts_and_at_most_the_examples_asked_for():
    assert filled().summary(examples=1).splitlines() == [
        "  missing_image: 4 (no film is named, or none is there)",
        "    row 0, 0.png: no such file",
        "  empty_report: 1 (no text for the target)",
        "    row 9: no words",
    ]


def test_share_is_checked_against_its_limit():
    filled().check_share(50, limit=0.1)
    with pytest.raises(TooManyQuarantined, match=r"(?s)5 of 49 .*missing_image: 4.*0\.103 or more") as error:
        filled().check_share(49, limit=0.1)
    assert len(error.value.quarantine) == 5
