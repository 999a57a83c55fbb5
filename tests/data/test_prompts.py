"""What a split's samples are asked with, and whose report is a prior."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.data.admission import corpus_schema
from radrl.data.prompts import of_split, priors

Make = Callable[..., ds.Dataset]


def frame(*rows: tuple[str, str, float | None, str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["patient_id", "study_id", "taken", "report"])


def told(*rows: tuple[str, str, float | None, str]) -> list[str | None]:
    return [None if pd.isna(prior) else prior for prior in priors(frame(*rows))]


def test_the_last_study_before_is_the_prior_in_whatever_order_they_stand() -> None:
    assert told(
        ("a", "a3", 30, "third"),
        ("b", "b1", 5, "other patient"),
        ("a", "a1", 10, "first"),
        ("a", "a2", 20, "second"),
    ) == ["second", None, None, "first"]


def test_films_of_one_study_are_no_priors_of_each_other() -> None:
    """The second film of a study was taken later; the study is as old as its first."""
    assert told(
        ("a", "a1", 10, "before"), ("a", "a2", 20, "now"), ("a", "a2", 21, "now"), ("a", "a3", 21, "later")
    ) == [None, "before", "before", "now"]


def test_of_two_studies_of_one_moment_neither_is_before_the_other() -> None:
    assert told(("a", "a1", 1, "x"), ("a", "a2", 1, "y"), ("a", "a3", 2, "z")) == [None, None, "y"]


def test_a_study_of_unknown_time_has_no_prior_and_is_none() -> None:
    assert told(("a", "a1", None, "x"), ("a", "a2", 2, "y"), ("a", "a3", None, "z")) == [None] * 3


def test_dates_with_seconds_are_compared_to_the_second() -> None:
    assert told(("a", "a1", 21800506213015, "x"), ("a", "a2", 21800506213014, "y")) == ["y", None]


def corpus(rows: list[dict[str, Any]]) -> ds.Dataset:
    plain = {"views": ["frontal"], "images": [b""], "source_keys": [""], "digest": bytes(32)}
    whole = [plain | row | {"sample_id": f"{row['study_id']}_1", "label_text": row["report"]} for row in rows]
    return ds.dataset(pa.Table.from_pylist(whole, schema=corpus_schema(["indication", "age", "prior"])))


STUDIES = st.lists(
    st.tuples(
        st.sampled_from("ab"), st.sampled_from(["train", "val", "test"]), st.integers(0, 4) | st.none()
    ),
    min_size=1,
    max_size=12,
)


@given(STUDIES)
def test_a_prior_is_never_of_another_split(studies: list[tuple[str, str, int | None]]) -> None:
    """Also where the source has a patient in two splits, and that is allowed."""
    rows = [
        {
            "study_id": f"s{i}",
            "patient_id": patient,
            "split": split,
            "taken": taken,
            "report": f"s{i} {split}",
        }
        for i, (patient, split, taken) in enumerate(studies)
    ]
    by_report = {row["report"]: row for row in rows}
    for split in {row["split"] for row in rows}:
        own = [row for row in rows if row["split"] == split]
        for row, prior in zip(own, of_split(corpus(rows), split, "{prior|}"), strict=True):
            earlier = [
                each["taken"]
                for each in own
                if each["patient_id"] == row["patient_id"]
                and None not in (each["taken"], row["taken"])
                and each["taken"] < row["taken"]
            ]
            if not earlier:
                assert prior == ""
                continue
            found = by_report[prior]
            assert (found["split"], found["patient_id"]) == (split, row["patient_id"])
            assert found["taken"] == max(earlier)


def test_each_sample_is_asked_with_its_own(make_corpus: Make) -> None:
    known = make_corpus(
        ["train", "test"],
        studies=3,
        indication=["Cough.", None, "Fever."] * 2,
        age=[40, None, 60] * 2,
        taken=[1, 2, 3] * 2,
        patient_id=["a", "a", "b", "a", "a", "b"],
    )
    template = "For {indication|nothing}, {age|?}: {prior:4|none}"
    assert of_split(known, "train", template) == [
        "For Cough., 40: none",
        "For nothing, ?: There is a small",
        "For Fever., 60: none",
    ]
    assert of_split(known, "train", template, sample_ids=["train2_1", "train0_1"]) == [
        "For Fever., 60: none",
        "For Cough., 40: none",
    ]
    with pytest.raises(KeyError, match="test0_1"):
        of_split(known, "train", template, sample_ids=["test0_1"])


def test_without_a_place_the_prompt_is_one_and_no_column_is_read(make_corpus: Make) -> None:
    assert of_split(make_corpus(["train"]), "train", "Write.") == "Write."


@pytest.mark.parametrize(
    ("name", "column"), [("indication", "indication"), ("age", "age"), ("prior", "taken")]
)
def test_a_corpus_without_the_column_says_what_to_name(make_corpus: Make, name: str, column: str) -> None:
    with pytest.raises(ValueError, match=rf"no column {column}; name {name} in ingest\.context"):
        of_split(make_corpus(["train"]), "train", f"{{{name}}}")
