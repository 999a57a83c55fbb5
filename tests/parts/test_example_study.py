"""An arm of parts of one's own through `dvc repro`, and what runs again when they change."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from kedro_repro.programs import DVC, environment

pytestmark = pytest.mark.slow

GOAL = "eval@mine"
ARM: dict[str, Any] = {
    "start": "base",
    "selection": "few",
    "reward": {
        "brevity": {"weight": 0.5, "words": 12},
        "calls": {"part": "my_lab.rewards:Calls", "weight": 1.0},
    },
    "credit": {"opening": {"characters": 20}},
    "oracle": "none",
    "training": {"steps": 2, "prompts_per_step": 2, "rollouts": 2, "rollouts_at_once": 4, "watch": None},
}


def parameters(root: Path) -> dict[str, Any]:
    """params.yaml with a part of one's own of each kind, on a few films."""
    given: dict[str, Any] = yaml.safe_load((root / "params.yaml").read_text())
    patients = {"pretrain": 2, "train": 8, "val": 2, "test": 4}
    given["ingest"] |= {"source": "twins", "twins": {"patients": patients}}
    given["labeler"] |= {"name": "keywords", "keywords": {"words": {"Pleural Effusion": ["effusion"]}}}
    given["labeler"]["compact"] = None
    given["selection"]["own"] = {"few": {"part": "my_lab.selections:one_a_patient", "patients": 4}}
    given["selection"]["balanced"]["studies"] = 4
    given["training"]["max_new_tokens"] = given["generate"]["max_new_tokens"] = 12
    given["arms"] = {"base": {"start": "base", "selection": "full"}, "mine": ARM}
    given["eval"] |= {"families": ["ce", "length_ratio"], "labelers": ["keywords"]}
    given["eval"]["headline"] = ["length_ratio"]
    given["compare"] |= {"reference": "base", "metrics": ["ce_keywords_sample14_f1", "length_ratio"]}
    given["ceilings"]["start"] = "base"
    given["analyses"]["credit"]["gradient"] = None
    return given


@pytest.fixture(scope="module")
def study(root: Path, installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """A clone of the project with these parameters, in which DVC can be asked; the package beside it."""
    folder, site = tmp_path_factory.mktemp("study") / "radrl", tmp_path_factory.mktemp("lab")
    shutil.copytree(installed, site, dirs_exist_ok=True)
    tracked = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout
    for name in tracked.splitlines():
        if not name.startswith(("tests/", "docs/")) and name != "dvc.lock":
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, folder / name)
    (folder / "data/01_raw").mkdir(parents=True, exist_ok=True)
    (folder / "params.yaml").write_text(yaml.safe_dump(parameters(root)))
    path = os.pathsep.join([str(folder / "src"), str(site)])
    variables = environment(PYTHONPATH=path, MLFLOW_TRACKING_URI="off")

    def dvc(*arguments: str, status: int = 0) -> str:
        done = subprocess.run(
            [*DVC, *arguments], cwd=folder, env=variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + (done.stderr if status else "")

    (folder / ".dvc" / "config").write_text("[core]\n    no_scm = true\n    analytics = false\n")
    dvc.folder, dvc.site = folder, site  # type: ignore[attr-defined]
    dvc("repro", GOAL)
    return dvc


def stale(study: Any) -> set[str]:
    """What DVC would run on the way to the arm's scores."""
    code = [sys.executable, "-m", "radrl.commands", "code"]
    path = os.pathsep.join([str(study.folder / "src"), str(study.site)])
    subprocess.run(code, cwd=study.folder, env=environment(PYTHONPATH=path), check=True)
    found = json.loads(study("status", "--json", "--with-deps", GOAL))
    return {*found} - {"code"}


def test_the_arm_trained_on_its_own_films_and_was_scored_by_its_own_metric(study: Any) -> None:
    data = study.folder / "data"
    subset = pd.read_parquet(data / "05_model_input/subsets/few.parquet")
    assert len(subset) == 4
    curve = pd.read_csv(data / "08_reporting/training/arms/mine.csv")
    assert {"rewards/brevity/mean", "rewards/calls/mean", "credit/weight_mean"} <= {*curve.columns}
    scores = json.loads((data / "08_reporting/eval/mine/scores.json").read_text())
    assert 0 < scores["length_ratio"] <= 2
    assert "ce_keywords_sample14_f1" in scores


def test_nothing_to_do_is_seen(study: Any) -> None:
    assert stale(study) == set()


@pytest.mark.parametrize(
    ("module", "old", "new", "again"),
    [
        ("rewards", "are worth 1; longer ones less", "are worth one", set()),
        ("rewards", "min(1.0, max(words", "min(2.0, max(words", {"train@mine"}),
        ("metrics", "min(most, len", "min(most, 1 + len", {"eval@mine"}),
        ("selections", ".head(patients", ".tail(patients", {"own_selection@few"}),
    ],
    ids=["docstring", "reward", "metric", "selection"],
)
def test_a_change_of_ones_own_part_runs_what_names_it(
    study: Any, module: str, old: str, new: str, again: set[str]
) -> None:
    file = study.site / "my_lab" / f"{module}.py"
    before = file.read_text()
    assert old in before
    file.write_text(before.replace(old, new))
    try:
        assert stale(study) == again
    finally:
        file.write_text(before)


def test_settings_of_ones_own_labeler_reach_those_who_label(study: Any) -> None:
    """The stage labeler has them in its folder, on which those that label depend."""
    written = json.loads((study.folder / "data/06_models/labeler/keywords/settings.json").read_text())
    assert written == {"words": {"Pleural Effusion": ["effusion"]}}


def test_parameters_changed_while_a_stage_runs_are_not_recorded_as_what_ran(study: Any) -> None:
    """The source rewrites params.yaml in the middle of its own stage, as somebody with an editor might."""
    file, params = study.site / "my_lab" / "sources.py", study.folder / "params.yaml"
    lock = study.folder / "dvc.lock"
    source, given, ran = file.read_text(), params.read_text(), yaml.safe_load(lock.read_text())
    edited = given.replace("max_quarantined_share: 0.05", "max_quarantined_share: 0.5")
    assert edited != given
    write = f"    __import__('pathlib').Path({str(params)!r}).write_text({edited!r})\n"
    begin = "    rng = np.random.default_rng(seed)\n"
    file.write_text(source.replace(begin, write + begin))
    try:
        said = study("repro", "ingest", status=255)
        assert "params.yaml was changed while ingest ran: ingest." in said
        assert yaml.safe_load(lock.read_text())["stages"]["ingest"] == ran["stages"]["ingest"]
    finally:
        file.write_text(source)
        params.write_text(given)
    study("repro", "ingest")
    assert yaml.safe_load(lock.read_text())["stages"]["ingest"] == ran["stages"]["ingest"]
