"""Tables are described by MLflow's words for their columns, which MLflow reads back."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from mlflow.types import Schema

from kedro_repro.tracking.table_columns import described


def test_every_column_is_one_that_mlflow_reads(tmp_path: Path) -> None:
    table = pa.table(
        {
            "id": pa.array(["a"], pa.large_string()),
            "label": pa.array(["b"]).dictionary_encode(),
            "count": pa.array([1], pa.int64()),
            "state": pa.array([1], pa.int8()),
            "sure": pa.array([True]),
            "score": pa.array([0.5], pa.float64()),
            "half": pa.array([0.5], pa.float32()),
            "at": pa.array([datetime(2026, 1, 1)]),
            "film": pa.array([[b"png"]], pa.list_(pa.binary())),
            "digest": pa.array([b"0123"], pa.binary(4)),
            "nothing": pa.array([None], pa.null()),
        }
    )
    pq.write_table(table, tmp_path / "part.parquet")
    schema, profile = described(ds.dataset(tmp_path))
    assert schema is not None
    assert profile == '{"num_rows": 1}'
    words = {one["name"]: one["type"] for one in json.loads(schema)["mlflow_colspec"]}
    assert words == {
        "id": "string",
        "label": "string",
        "count": "long",
        "state": "integer",
        "sure": "boolean",
        "score": "double",
        "half": "float",
        "at": "datetime",
        "film": "array",
        "digest": "binary",
        "nothing": "string",
    }
    read = Schema.from_json(json.dumps(json.loads(schema)["mlflow_colspec"]))
    assert read.input_names() == list(words)
    assert "png" not in schema


def test_a_frame_is_described_by_its_first_rows_and_its_whole_length() -> None:
    schema, profile = described(pd.DataFrame({"gold": [[0, 1]] * 150, "report": ["secret"] * 150}))
    assert schema is not None
    assert [one["type"] for one in json.loads(schema)["mlflow_colspec"]] == ["array", "string"]
    assert profile == '{"num_rows": 150}'
    assert "secret" not in schema


@pytest.mark.parametrize("data", [{"f1": 0.5}, [1, 2], "text", None])
def test_what_is_no_table_has_neither(data: object) -> None:
    assert described(data) == (None, None)
