"""A table of one's own: conf/recipes/csv-laptop.yaml through every stage, on forty drawn films as files."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml
from PIL import Image
from projects import ROOT, copy, kedro_run

from radrl.data.sources import phantom

FILMS = 40


def write_table(folder: Path) -> None:
    """PNG films, and a table whose only text is the whole report."""
    (folder / "films").mkdir(parents=True)
    drawn = phantom.read(seed=7, studies={"train": FILMS}, lateral_share=0.0, missing_findings=0.0)
    with (folder / "reports.csv").open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        table.writerow(["filename", "text", "patient_id"])
        for number, record in enumerate(drawn):
            name = f"films/{number:03}.png"
            Image.fromarray(record.image()).save(folder / name)
            table.writerow([name, f"{record.findings} {record.impression or ''}", record.patient_id])


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project after `kedro run --env=smoke` on the table."""
    folder = copy(tmp_path_factory.mktemp("own_table"))
    write_table(folder / "data/01_raw")
    params = yaml.safe_load((ROOT / "conf/recipes/csv-laptop.yaml").read_text())
    named = {"image": "filename", "report": "text", "patient": "patient_id"}
    params["ingest"]["csv"]["columns"] |= named
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    kedro_run(folder, "--env=smoke")
    return folder


def test_every_arm_has_its_row(project: Path) -> None:
    data = project / "data/smoke"
    assert json.loads((data / "08_reporting/ingest.json").read_text())["kept"] == FILMS
    rows = pd.read_csv(data / "08_reporting/comparison/comparison.csv")
    assert set(rows["arm"][rows["kind"] == "arm"]) == {"base", "sft", "grpo"}
    assert (data / "08_reporting/comparison/comparison.html").stat().st_size > 100_000


def test_without_the_balanced_subset_the_stage_still_leaves_all_that_dvc_keeps(project: Path) -> None:
    shutil.move(project / "data/smoke", project / "data/whole")
    for folder in (project / "data/whole").iterdir():
        shutil.move(folder, project / "data" / folder.name)
    kedro_run(project, "--pipelines=selection")  # as the recipe has it: selection.balanced is null
    outs = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]["selection"]["outs"]
    assert all((project / out).is_file() for out in outs)
    assert pd.read_parquet(project / "data/05_model_input/subsets/balanced.parquet").empty
    summary = json.loads((project / "data/08_reporting/selection.json").read_text())
    assert [*summary] == ["full", "random"]
