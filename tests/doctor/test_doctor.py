"""What the doctor says is there, is without, or lacks; and that passwords are not shown."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from click.testing import CliRunner

from radrl.commands import doctor
from radrl.doctor import Check, environment
from radrl.doctor.recipe import device_and_files, settings
from radrl.params.schema import validate
from radrl.storage import yaml_files

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def values() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml_files.load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    return loaded


def found(values: dict[str, Any], root: Path = ROOT, **how: Any) -> dict[str, Check]:
    return {one.name: one for one in device_and_files(validate(values), root, **how)}


def test_weights_are_told_with_size_and_digest(values: dict[str, Any]) -> None:
    weights = ROOT / "data/06_models/radrl-tiny/model.safetensors"
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()[:16]
    own = found(values)["policy.path"]
    assert own.state == "there"
    assert own.said.endswith(f"model.safetensors 5.0 MiB sha256 {digest}")
    assert "sha256" not in found(values, hashed=False)["policy.path"].said


def test_a_path_that_is_not_there_is_told_as_it_was_looked_for(
    values: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    own = found(values | {"policy": values["policy"] | {"path": "~/weights"}})["policy.path"]
    assert own.state == "lacking"
    assert own.said == f"~/weights: nothing is there ({tmp_path / 'weights'})"
    assert "docs/policies.md" in own.mend


def test_the_files_of_sources_that_are_not_used_are_not_asked_for(values: dict[str, Any]) -> None:
    assert "ingest.csv.path" not in found(values)
    asked = found(values | {"ingest": values["ingest"] | {"source": "csv"}})
    assert asked["ingest.csv.path"].state == "lacking"
    away = {"source": "csv", "split": None}
    asked = found(values | {"ingest": values["ingest"] | {"away": away}})
    assert asked["ingest.csv.path"].state == "lacking"


def test_metrics_that_nobody_asked_for_say_what_they_need(values: dict[str, Any]) -> None:
    told = found(values)
    families = ("radgraph", "green", "radeval", "radmatch")
    assert {told[f"eval.{family}"].state for family in families} == {"without"}
    assert "make scorers" in told["eval.radmatch"].mend


def test_a_device_that_is_not_there_lacks(values: dict[str, Any]) -> None:
    own = found(values | {"device": "cuda:63"})["device"]
    assert (own.state, "cuda:63" in own.said) == ("lacking", True)


def test_parameters_that_the_schema_refuses_are_said(tmp_path: Path) -> None:
    recipe = tmp_path / "params.yaml"
    recipe.write_text("seed: [", encoding="utf-8")
    params, own = settings(recipe)
    assert params is None
    assert own.state == "lacking"
    assert "no valid YAML" in own.said


def test_a_package_of_another_release_costs_the_numbers(tmp_path: Path) -> None:
    (tmp_path / "constraints.txt").write_text("pandas==0.1\npyarrow==1 ; python_version < '3.12'\n")
    told = {one.name: one for one in environment.packages(tmp_path)}
    assert told["pandas"].said.endswith("tested is 0.1")
    assert told["pandas"].state == "without"
    assert told["pyarrow"].state == "there"  # by platform: no one release was tested


def test_a_program_that_is_not_there_says_what_it_costs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    told = {one.name: one for one in environment.programs()}
    assert told["Java"].state == "without"
    assert "METEOR" in told["Java"].costs
    assert told["git"].state == "lacking"


def test_no_password_is_shown(tmp_path: Path) -> None:
    told = environment.tracking("http://me:secret@127.0.0.1:9/", tmp_path)
    assert told.state == "lacking"
    assert "secret" not in str(told)
    assert "127.0.0.1:9" in told.said


@pytest.mark.parametrize(("status", "state"), [(200, "there"), (500, "lacking")])
def test_a_server_is_asked_whether_it_is_there(tmp_path: Path, status: int, state: str) -> None:
    asked: list[str] = []

    class Health(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Health) as server:
        Thread(target=server.handle_request, daemon=True).start()
        told = environment.tracking(f"http://127.0.0.1:{server.server_address[1]}", tmp_path)
    assert (told.state, asked) == (state, ["/health"])


def test_a_remote_is_told_without_its_password(tmp_path: Path) -> None:
    shutil.copytree(ROOT / ".dvc", tmp_path / ".dvc", ignore=shutil.ignore_patterns("cache", "tmp"))
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    told = {one.name: one for one in environment.record(tmp_path)}
    assert told["DVC remote"].state == "without"
    with (tmp_path / ".dvc" / "config").open("a") as stream:
        stream.write("""['remote "lab"']\n    url = ssh://me:secret@host/store\n""")
    told = {one.name: one for one in environment.record(tmp_path)}
    assert told["DVC remote"].said == "lab ssh://host/store"
    assert told["DVC cache"].said.startswith("0 B in ")


def test_the_command_ends_with_what_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "off")
    run = CliRunner().invoke(doctor.command, ["conf/recipes/deer-mimic_cxr.yaml", "--json", "--no-hash"])
    assert run.exit_code == 1
    assert "policy.path: weights/Qwen2.5-VL-3B-Instruct: nothing is there" in run.stderr
    told = json.loads(run.stdout)
    assert {"Machine", "Packages", "Programs", "Record"} <= told.keys()
    assert {one["state"] for one in told["Record"]} <= {"there", "without"}


def test_nothing_lacks_for_the_shipped_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "src")
    run = CliRunner().invoke(doctor.command, ["--no-hash"])
    assert run.exit_code == 0, run.output
    assert "model.safetensors" in run.output
