"""A project that is not radrl, from plain state to a record, with the plugin's own wheel and no torch.

The project in `spaceflights/` is Kedro's starter of that name, written anew: a pipeline that runs once, and
one under a namespace for each model, whose code a parameter names by its import path.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

HERE = Path(__file__).parent
PACKAGE = HERE.parent
MODELS = ("linear", "mean")
Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="as tested")


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin's wheel, the libraries of this environment, and a torch that tells on its importers."""
    folder = tmp_path_factory.mktemp("environment")
    source = folder / "source"  # setuptools leaves a build folder beside what it builds
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("tests", "*.egg-info", "build"))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    options = ["--no-deps", "--no-index"]
    subprocess.run(
        [*pip, "wheel", *options, "--no-build-isolation", "--wheel-dir", folder, source], check=True
    )
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    made = folder / "venv/bin/python"
    subprocess.run([*pip, "--python", made, "install", *options, *folder.glob("*.whl")], check=True)
    (site,) = (folder / "venv/lib").glob("python*/site-packages")
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (site / "torch.py").write_text(f"open({str(folder / 'torch was imported')!r}, 'w')\nraise ImportError\n")
    for name in ("kedro", "dvc"):
        program = folder / "venv/bin" / name
        program.write_text(f'#!/bin/sh\nexec {made} -m {name} "$@"\n')
        program.chmod(0o755)
    return made


@pytest.fixture(scope="module")
def run(python: Path) -> Run:
    """Run `kedro repro ...` in a project."""

    def call(folder: Path, *arguments: str, status: int = 0, **more: str) -> subprocess.CompletedProcess[str]:
        own = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
        own |= {"PATH": os.pathsep.join([str(python.parent), "/usr/bin", "/bin"]), "DO_NOT_TRACK": "true"}
        own |= {"DVC_NO_ANALYTICS": "1", "KEDRO_DISABLE_TELEMETRY": "1", "MLFLOW_DISABLE_TELEMETRY": "true"}
        done = subprocess.run(
            [python, "-m", *arguments], cwd=folder, env=own | more, capture_output=True, text=True
        )
        assert done.returncode == status, done.stdout[-2000:] + done.stderr[-4000:]
        return done

    return call


@pytest.fixture(scope="module")
def plain(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project as `kedro new`, `git init` and `dvc init` leave one: no dvc.yaml."""
    folder = tmp_path_factory.mktemp("plain") / "spaceflights"
    shutil.copytree(
        HERE / "spaceflights", folder, symlinks=True, ignore=shutil.ignore_patterns("__pycache__")
    )
    subprocess.run(["git", "init", "--quiet", folder], check=True)
    run(folder, "dvc", "init", "--quiet")
    return folder


@pytest.fixture(scope="module")
def finished(run: Run, plain: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project when all of its stages have run."""
    folder = copy(plain, tmp_path_factory.mktemp("finished"))
    run(folder, "kedro", "repro", "stages")
    run(folder, "kedro", "repro", "run")
    return folder


def copy(project: Path, to: Path) -> Path:
    return Path(shutil.copytree(project, to / "spaceflights", symlinks=True))


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def out_of_date(run: Run, project: Path) -> set[str]:
    lines = run(project, "kedro", "repro", "status").stdout.splitlines()
    return {line.split()[-1] for line in lines if line.startswith("out of date")} - {"code"}


def lock(project: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((project / "dvc.lock").read_text())["stages"]
    return found


def test_dvc_yaml_is_written_from_pipelines_and_catalog(run: Run, plain: Path, tmp_path: Path) -> None:
    project = copy(plain, tmp_path)
    run(project, "kedro", "repro", "stages", "--check", status=1)
    run(project, "kedro", "repro", "stages")
    run(project, "kedro", "repro", "stages", "--check")
    stages = yaml.safe_load((project / "dvc.yaml").read_text())["stages"]
    assert [*stages] == ["code", "data_processing", "data_science"]
    assert stages["code"]["cmd"] == "kedro repro code"
    assert stages["data_processing"]["deps"] == [
        f"data/01_raw/{name}.csv" for name in ("companies", "reviews", "shuttles")
    ]
    assert stages["data_science"] == {
        "foreach": "${models}",
        "do": {
            "desc": "one model of the price, and its error",
            "cmd": "kedro run --pipelines=data_science --namespaces=${key}",
            "deps": ["data/03_primary/model_input_table.csv"],
            "params": [
                "models.${key}",
                "test_share",
                {"data/08_reporting/code.yaml": ["data_science.${key}"]},
            ],
            "outs": ["data/06_models/${key}/regressor.json"],
            "metrics": [{"data/08_reporting/${key}/scores.json": {"cache": False}}],
        },
    }


def test_stages_run_side_by_side_and_torch_is_never_imported(
    run: Run, plain: Path, python: Path, tmp_path: Path
) -> None:
    project, meeting = copy(plain, tmp_path), tmp_path / "meeting"
    meeting.mkdir()
    for name in MODELS:
        edit(project / "params.yaml", f"estimators.{name}:fit", "estimators.meeting:fit")
    run(project, "kedro", "repro", "stages")
    done = run(project, "kedro", "repro", "run", "--jobs", "2", MEETING=str(meeting))
    assert "4 stages ran" in done.stderr
    assert len(list(meeting.iterdir())) == 2
    assert not (python.parents[2] / "torch was imported").exists()


def test_nothing_runs_again_for_a_docstring(run: Run, finished: Path, tmp_path: Path) -> None:
    project = copy(finished, tmp_path)
    assert out_of_date(run, project) == set()
    nodes = project / "src/spaceflights/pipelines/data_science/nodes.py"
    edit(
        nodes, '"""The mean absolute error."""', '"""How far a price is off, on average."""  # said otherwise'
    )
    assert out_of_date(run, project) == set()
    assert "nothing to run; 4 stages are up to date" in run(project, "kedro", "repro", "run").stderr


def test_a_node_runs_again_what_it_means(run: Run, finished: Path, tmp_path: Path) -> None:
    project = copy(finished, tmp_path)
    before = lock(project)
    edit(project / "src/spaceflights/pipelines/data_science/nodes.py", ".abs().mean()", ".abs().max()")
    assert out_of_date(run, project) == {f"data_science@{name}" for name in MODELS}
    run(project, "kedro", "repro", "run")
    after = lock(project)
    assert after["data_processing"] == before["data_processing"]
    for name in MODELS:
        stage = f"data_science@{name}"
        assert after[stage]["outs"] != before[stage]["outs"]


def test_code_that_a_parameter_names_is_the_code_of_its_model_alone(
    run: Run, finished: Path, tmp_path: Path
) -> None:
    project = copy(finished, tmp_path)
    files = run(project, "kedro", "repro", "code", "data_science@linear").stdout.splitlines()
    assert "src/spaceflights/estimators/linear.py" in files
    assert "src/spaceflights/estimators/mean.py" not in files
    edit(project / "src/spaceflights/estimators/linear.py", "rcond=None", "rcond=0.1")
    assert out_of_date(run, project) == {"data_science@linear"}


def test_params_that_change_during_a_run_leave_no_false_record(
    run: Run, finished: Path, tmp_path: Path
) -> None:
    project = copy(finished, tmp_path)
    edit(project / "params.yaml", "estimators.mean:fit", "estimators.editing:fit")
    run(project, "kedro", "repro", "run", status=1)
    log = (project / "build/repro/data_science@mean.log").read_text()
    assert "ChangedMeanwhile" in log
    assert "params.yaml was changed while data_science@mean ran" in " ".join(log.split())
    said = lock(project)["data_science@mean"]["params"]["params.yaml"]
    assert said["models.mean"]["estimator"].endswith("mean:fit")  # of the run before: what it ran with
    assert said["test_share"] == 0.25
    run(project, "kedro", "repro", "run")  # with what stands there now
    said = lock(project)["data_science@mean"]["params"]["params.yaml"]
    assert said["models.mean"]["estimator"].endswith("editing:fit")
    assert said["test_share"] == 0.5
    assert out_of_date(run, project) == set()


def test_each_model_has_a_run_of_mlflows_below_one_of_the_start(finished: Path) -> None:
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{finished / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("spaceflights")
    runs = {run.data.tags.get("stage"): run for run in client.search_runs([experiment.experiment_id])}
    assert {"data_processing", *(f"data_science@{name}" for name in MODELS)} <= runs.keys()
    for name in MODELS:
        run, stage = runs[f"data_science@{name}"], lock(finished)[f"data_science@{name}"]
        assert run.info.status == "FINISHED"
        assert run.data.params["test_share"] == "0.25"
        assert run.data.params[f"models.{name}.estimator"] == f"spaceflights.estimators.{name}:fit"
        scores = json.loads((finished / f"data/08_reporting/{name}/scores.json").read_text())
        assert run.data.metrics == scores
        (regressor,) = (out["md5"] for out in stage["outs"] if out["path"].endswith("regressor.json"))
        assert run.data.tags[f"written.{name}.regressor"] == f"md5:{regressor}"
        above = client.get_run(run.data.tags["mlflow.parentRunId"])
        assert above.info.status == "FINISHED"
        assert above.info.run_name.startswith("run ")
