"""What a smoke run leaves behind: the notebooks run on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs_on_a_smoke_run(notebook: Path, smoke: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reporting = smoke / "08_reporting"
    monkeypatch.setenv("RADRL_REPORTING", str(reporting))
    names: dict[str, Any] = {}
    cells = [c for c in json.loads(notebook.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "code"]
    for cell in cells:
        exec("".join(cell["source"]), names)
    compared = pd.read_csv(reporting / "comparison" / "comparison.csv")
    assert list(names["values"].index) == list(dict.fromkeys(compared["arm"]))
    assert names["values"].notna().to_numpy().any(axis=1).all()
    grpo = pd.read_csv(reporting / "training" / "arms" / "grpo.csv")
    assert names["rewards"]["grpo"].dropna().tolist() == grpo["reward"].dropna().tolist() != []
    assert "sft" not in names["rewards"]  # its row is the start of the others: nothing trains


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_output_is_committed(notebook: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert [c["outputs"] for c in cells if c["cell_type"] == "code" and c["outputs"]] == []
