"""The notebooks run on what the pipeline leaves behind."""

import json
from pathlib import Path

import pandas as pd
import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))


@pytest.fixture
def reporting(tmp_path: Path) -> Path:
    for folder in ("comparison", "training"):
        (tmp_path / folder).mkdir()
    row = {
        "metric": "f1",
        "low": 0.1,
        "high": 0.3,
        "difference_low": 0.0,
        "difference_high": 0.2,
        "beaten_by": "",
    }
    rows = [
        row | {"arm": "sft", "value": 0.2, "difference": None, "p_holm": None},
        row | {"arm": "grpo", "value": 0.3, "difference": 0.1, "p_holm": 0.04},
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "comparison" / "comparison.csv", index=False)
    pd.DataFrame({"step": [1, 2], "reward": [0.1, 0.2]}).to_csv(
        tmp_path / "training" / "grpo.csv", index=False
    )
    pd.DataFrame({"step": [1], "loss": [1.0]}).to_csv(tmp_path / "training" / "sft.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs(notebook, reporting, monkeypatch):
    monkeypatch.setenv("RADRL_REPORTING", str(reporting))
    names: dict[str, object] = {}
    cells = [c for c in json.loads(notebook.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "code"]
    for cell in cells:
        exec("".join(cell["source"]), names)
    assert list(names["values"].index) == ["sft", "grpo"]
    assert names["rewards"]["grpo"].tolist() == [0.1, 0.2]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_output_is_committed(notebook):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert [c["outputs"] for c in cells if c["cell_type"] == "code" and c["outputs"]] == []
