"""A model whose prompt has places takes columns of their names, and needs none of them."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from mlflow import pyfunc
from mlflow.exceptions import MlflowException

from radrl.params.schema import validate
from radrl.wiring import policy_models, served

ASKED = "Age {age|unknown}. Before: {prior|none}."


@pytest.fixture
def model(small: dict[str, Any], policy_folder: Path, tmp_path: Path) -> Any:
    small["prompts"]["plain"] = ASKED
    small["ingest"]["context"] = ["age", "prior"]
    small["policy"] = {"path": "there", "dtype": "float32"}
    target = tmp_path / "model"
    target.mkdir()
    return pyfunc.load_model(str(policy_models.save(policy_folder, validate(small), "sft", target)))


def test_each_row_is_asked_with_its_own(
    model: Any, films: Callable[..., list[bytes]], rendered: list[str]
) -> None:
    images = [base64.b64encode(film).decode() for film in films(3)]
    told = {"age": ["61", None, ""], "prior": ["No effusion.", "Edema.", None]}
    assert len(model.predict(pd.DataFrame({served.IMAGE: images} | told))) == 3
    assert rendered == [
        "Age 61. Before: No effusion..",
        "Age unknown. Before: Edema..",
        "Age unknown. Before: none.",
    ]
    rendered.clear()
    model.predict(pd.DataFrame({served.IMAGE: images[:1]}))
    assert rendered == ["Age unknown. Before: none."]
    assert [column.name for column in model.metadata.get_input_schema()] == ["image", "age", "prior"]


def test_a_column_of_another_type_is_refused(model: Any, films: Callable[..., list[bytes]]) -> None:
    [image] = (base64.b64encode(film).decode() for film in films(1))
    with pytest.raises(MlflowException, match="row 1: 'age' is list; send it as text"):
        model.predict(pd.DataFrame({served.IMAGE: [image], "age": [[61]]}))
