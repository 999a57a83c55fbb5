"""The digest of a row of the corpus."""

from __future__ import annotations

import pytest

from radrl.data.admission import CORPUS, row_digest

ROW = {
    "sample_id": "s_1", "study_id": "s", "patient_id": "p", "split": "train", "views": ["frontal"],
    "images": [b"a", b"bc"], "findings": None, "impression": "Clear.", "report": "Clear.",
    "label_text": "Clear.", "gold": None, "source_keys": ["row 1", "row 2"],
}  # fmt: skip


def test_the_row_has_every_column_but_its_digest() -> None:
    assert {*ROW, "digest"} == set(CORPUS.names)
    assert row_digest(ROW | {"digest": b"x"}) == row_digest(ROW)
    assert len(row_digest(ROW)) == CORPUS.field("digest").type.byte_width


@pytest.mark.parametrize("column", ROW)
def test_every_column_counts(column: str) -> None:
    other = {"images": [b"ab", b"c"], "gold": [0] * 14, "views": ["lateral"], "source_keys": ["row 1"]}
    assert row_digest(ROW | {column: other.get(column, "other")}) != row_digest(ROW)
