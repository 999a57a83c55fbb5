"""The stage generate: a report a film of the split that is scored."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from radrl.pipelines.eval.texts import gold_of_reports
from radrl.pipelines.generate.nodes import write_reports
from radrl.pipelines.generate.pipeline import create_pipeline
from radrl.pipelines.generate.speed import Measured, numbers


@pytest.fixture
def inputs(
    small: dict[str, Any], make_corpus: Callable[..., ds.Dataset], policy_folder: Path
) -> dict[str, Any]:
    return {
        "corpus": make_corpus(["train", "test"], studies=7),
        "policy": policy_folder,
        "settings": small["generate"],
        "dtype": "float32",
        "prompts": small["prompts"],
        "seed": 0,
        "threads": 1,
        "device": "cpu",
    }


def test_every_film_of_the_split_gets_one_report_beside_its_reference(
    inputs: dict[str, Any], texts: Callable[[int], list[str]]
) -> None:
    table = write_reports(**inputs)
    assert table.columns.tolist() == [
        "sample_id",
        "study_id",
        "patient_id",
        "gold",
        "reference",
        "reference_label_text",
        "report",
    ]
    assert table["sample_id"].tolist() == [f"test{i}_1" for i in range(7)]
    assert table["patient_id"].tolist() == [f"p_test{i}" for i in range(7)]
    assert table["reference"].tolist() == texts(7)
    assert all(isinstance(report, str) for report in table["report"])


def test_gold_labels_are_handed_on_through_the_file(
    inputs: dict[str, Any], make_corpus: Callable[..., ds.Dataset], tmp_path: Path
) -> None:
    plain = make_corpus(["test"], studies=3).to_table()
    gold = pa.array([[1] * 14, None, [2] * 14], type=pa.list_(pa.int8()))
    place = plain.schema.get_field_index("gold")
    corpus = ds.dataset(plain.set_column(place, plain.schema.field("gold"), gold))
    write_reports(**inputs | {"corpus": corpus}).to_parquet(tmp_path / "reports.parquet")
    found = gold_of_reports(pd.read_parquet(tmp_path / "reports.parquet"))
    assert found is not None
    assert found.known.tolist() == [True, False, True]
    assert found.labels.tolist() == [[1] * 14, [0] * 14, [2] * 14]


def test_without_gold_labels_none_come_back_from_the_file(inputs: dict[str, Any], tmp_path: Path) -> None:
    write_reports(**inputs).to_parquet(tmp_path / "reports.parquet")
    assert gold_of_reports(pd.read_parquet(tmp_path / "reports.parquet")) is None


def test_greedy_reports_do_not_depend_on_batches_or_seed(inputs: dict[str, Any]) -> None:
    table = write_reports(**inputs)
    other = inputs | {"settings": inputs["settings"] | {"batch_size": 7}, "seed": 5}
    assert write_reports(**other).equals(table)


def test_drawn_reports_follow_the_seed(inputs: dict[str, Any]) -> None:
    drawn = inputs | {"settings": inputs["settings"] | {"temperature": 1.0}}
    first = write_reports(**drawn)
    assert write_reports(**drawn).equals(first)
    assert not write_reports(**drawn | {"seed": 1}).equals(first)


def test_split_without_films_is_named(inputs: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"no film in split 'val' \(it has test, train\)"):
        write_reports(**inputs | {"settings": inputs["settings"] | {"split": "val"}})


def test_seconds_a_film_are_told_and_stand_in_no_report(
    inputs: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    found: dict[str, float] = {}
    inputs["settings"] = inputs["settings"] | {"batch_size": 3}
    table = write_reports(**inputs, step_report=lambda step, metrics: found.update(metrics))
    assert found["generate/films_measured"] == 4  # of 7 films, without the first batch
    assert found["generate/seconds_per_image"] > 0
    said = " ".join(capsys.readouterr().out.split())
    assert "s an image over 4 films, 3 samples at once, on cpu, 1 threads" in said
    assert table.equals(write_reports(**inputs))
    assert "step_report" in create_pipeline().inputs()


def test_each_workers_first_batch_warms_up_and_single_ones_count() -> None:
    assert numbers([]) == {}
    first = Measured(2, 10.0, warms_up=True)
    assert numbers([first])["generate/seconds_per_image"] == 5.0
    batches = [first, Measured(2, 9.0, warms_up=True), Measured(2, 2.0, False), Measured(1, 1.0, False)]
    assert numbers(batches) == {"generate/films_measured": 3.0, "generate/seconds_per_image": 1.0}
