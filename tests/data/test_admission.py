"""Which split a patient is put into, and the digest of a row of the corpus."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.data.admission import CORPUS, PatientSplits, check_shares, draw, row_digest
from radrl.data.quarantine import PatientInTwoSplits
from radrl.data.study import SPLITS, canonical_split

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


SHARES = {"pretrain": 0.2, "train": 0.6, "val": 0.1, "test": 0.1}


@pytest.mark.parametrize(
    ("word", "split"),
    [
        ("train", "train"),
        (" Train ", "train"),
        ("validate", "val"),
        ("VALID", "val"),
        ("pretrain", "pretrain"),
    ],
)
def test_canonical_knows_the_usual_words(word, split):
    assert canonical_split(word) == split


@pytest.mark.parametrize("word", ["", "fold3", "holdout", "test2"])
def test_canonical_guesses_nothing(word):
    assert canonical_split(word) is None


def test_draw_is_the_hash_it_says_it_is():
    # share of the hash space below this patient's first 53 bits
    u = int(hashlib.sha256(b"7\0patient-3").hexdigest()[:16], 16) / 2**64
    bounds = {"pretrain": (0, 0.2), "train": (0.2, 0.8), "val": (0.8, 0.9), "test": (0.9, 1)}
    expected = next(split for split, (low, high) in bounds.items() if low <= u < high)
    assert draw("patient-3", seed=7, shares=SHARES) == expected


@given(st.text(), st.integers(0, 2**32))
def test_draw_gives_only_splits_that_are_offered(patient, seed):
    assert draw(patient, seed=seed, shares={"train": 1.0, "test": 0.0}) == "train"
    assert draw(patient, seed=seed, shares=SHARES) in SPLITS


def test_draw_keeps_the_shares_and_seeds_are_independent():
    drawn = [[draw(str(i), seed=seed, shares=SHARES) for i in range(4000)] for seed in (0, 1)]
    for splits in drawn:
        for split, share in SHARES.items():  # five standard deviations of a binomial share
            assert splits.count(split) / 4000 == pytest.approx(
                share, abs=5 * (share * (1 - share) / 4000) ** 0.5
            )
    agreement = sum(a == b for a, b in zip(*drawn, strict=True)) / 4000
    assert agreement == pytest.approx(sum(share**2 for share in SHARES.values()), abs=0.04)


@pytest.mark.parametrize(
    "shares",
    [{}, {"train": 0.5}, {"train": 1.2, "test": -0.2}, {"train": 1.0, "dev": 0.0}, {"train": float("nan")}],
)
def test_shares_that_are_no_partition_are_refused(shares):
    with pytest.raises(ValueError, match="split_shares"):
        check_shares(shares)


def test_stated_split_is_kept_and_passed_on_to_the_patients_other_records():
    splits = PatientSplits(seed=0, shares={"train": 1.0})
    assert splits.assign("p", stated="test", key="row 2") == "test"
    assert splits.assign("p", stated=None, key="row 3") == "test"
    assert splits.assign("q", stated=None, key="row 4") == "train"


@pytest.mark.parametrize(("first", "origin"), [("test", "row 2, stated"), (None, "row 2, drawn")])
def test_patient_in_two_splits_is_an_error_that_names_rows_but_no_patient(first, origin):
    splits = PatientSplits(seed=0, shares={"test": 1.0})
    splits.assign("Jane Doe", stated=first, key="row 2")
    with pytest.raises(PatientInTwoSplits) as error:
        splits.assign("Jane Doe", stated="train", key="row 3")
    message = str(error.value)
    assert hashlib.sha256(b"Jane Doe").hexdigest()[:12] in message
    assert f"test ({origin})" in message
    assert "train (row 3, stated)" in message
    assert "Jane" not in message
