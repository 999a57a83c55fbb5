"""dvc.yaml agrees with pipelines, catalog and parameters, or the check says where not."""

from __future__ import annotations

import ast
import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from kedro.pipeline import Pipeline, node, pipeline

from kedro_repro.code_digests import CODE_FILE, digests
from kedro_repro.project import load
from kedro_repro.stage_graph import CODE
from radrl.pipeline_registry import register_pipelines
from radrl.pipelines.stages import APART
from radrl.wiring.reproduction import RadrlDvcYaml

pytestmark = pytest.mark.filterwarnings("ignore:One or more dataset names contain")
ROOT = Path(__file__).parents[1]
LAZY = sorted(load(ROOT).lazy_packages)
Check = Callable[[], tuple[int, str]]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("dvc_stages", ROOT / "tools" / "dvc_stages.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def check(tool: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Check:
    """`python tools/dvc_stages.py --check`: its exit status and what it printed."""
    monkeypatch.setattr(sys, "argv", ["dvc_stages.py", "--check"])
    return lambda: (tool.main(), capsys.readouterr().out)


@pytest.fixture
def dvc_file(tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of dvc.yaml for the tool to look at."""
    copy = tmp_path / "dvc.yaml"
    copy.write_text((ROOT / "dvc.yaml").read_text())
    monkeypatch.setattr(tool, "DVC_FILE", copy)
    return copy


@pytest.fixture(scope="module")
def stages() -> dict[str, dict[str, Any]]:
    """dvc.yaml's stages; of a stage for each arm, the body."""
    written = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    return {name: stage.get("do", stage) for name, stage in written.items()}


def test_dvc_file_has_not_drifted(check: Check) -> None:
    assert check() == (0, "")


def test_compare_runs_again_when_scores_of_other_systems_change(
    stages: dict[str, dict[str, Any]], tool: ModuleType
) -> None:
    """The schema lets compare.systems name files of this folder alone, which is there in every clone."""
    folder = RadrlDvcYaml(load(ROOT))._catalog["systems"]["filepath"]
    assert folder in stages["compare"]["deps"]
    assert (ROOT / folder / "README.md").is_file()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("    always_changed: true\n", "", "+    always_changed: true"),
        (
            "data/03_primary/labels.parquet",
            "data/03_primary/lables.parquet",
            "-    - data/03_primary/lables.parquet",
        ),
        (
            "params: [device, labeler, seed, threads, {data/08_reporting/code.yaml: [labeler]}]",
            "params: [device, labeler, seed, threads]",
            "+    params: [device, labeler, seed, threads, {data/08_reporting/code.yaml: [labeler]}]",
        ),
        ("--pipelines=rollouts", "--pipelines=rollout", "+    cmd: kedro run --pipelines=rollouts"),
    ],
    ids=["always", "path", "code", "command"],
)
def test_change_of_dvc_file_is_seen(check: Check, dvc_file: Path, old: str, new: str, said: str) -> None:
    assert old in dvc_file.read_text()
    dvc_file.write_text(dvc_file.read_text().replace(old, new))
    status, output = check()
    assert status == 1
    assert "run `make stages`" in output
    assert said in output.splitlines()


def replaced(stage: str, *nodes: Any) -> Callable[..., Pipeline]:
    """The tool's way to a stage's pipeline, with more nodes in one of them."""
    original = RadrlDvcYaml._pipeline

    def create(own: RadrlDvcYaml, name: str) -> Pipeline:
        made = original(own, name)
        return made + pipeline(list(nodes)) if name == stage else made

    return create


def test_new_parameter_of_a_node_is_seen(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    more = node(lambda labels, seed: None, ["labels", "params:seed"], None, name="more")
    monkeypatch.setattr(RadrlDvcYaml, "_pipeline", replaced("label", more))
    assert check()[0] == 1


def test_new_output_of_a_node_is_seen(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    more = node(lambda labels: labels, "labels", "quarantine", name="more")
    monkeypatch.setattr(RadrlDvcYaml, "_pipeline", replaced("label", more))
    assert check()[0] == 1


def test_dataset_that_the_catalog_does_not_know_is_named(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = node(lambda labels: labels, "labels", "lables", name="more")
    monkeypatch.setattr(RadrlDvcYaml, "_pipeline", replaced("label", more))
    with pytest.raises(KeyError, match=r"catalog.yml knows no dataset 'lables'"):
        check()


def test_writing_makes_the_check_pass(
    check: Check, tool: ModuleType, dvc_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dvc_file.unlink()
    monkeypatch.setattr(sys, "argv", ["dvc_stages.py"])
    assert tool.main() == 0
    assert dvc_file.read_text() == (ROOT / "dvc.yaml").read_text()


def test_every_pipeline_is_a_stage_and_every_stage_a_pipeline(stages: dict[str, Any]) -> None:
    assert {*register_pipelines()} - {"__default__", *APART} == {*stages} - {CODE}
    commands = {name: stage["cmd"].split() for name, stage in stages.items() if name != CODE}
    assert all(f"--pipelines={name}" in command for name, command in commands.items())


def test_every_stage_compares_what_its_own_code_does(stages: dict[str, Any]) -> None:
    """Of every arm, its own digest; the digests are those that `radrl code` writes."""
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    written = digests(load(ROOT), params)
    for name, stage in stages.items():
        if name != CODE:
            (key,) = stage["params"][-1][str(CODE_FILE)]
            assert key in (name, f"{name}.${{key}}")
            assert isinstance(written[name], dict) == key.endswith("${key}")
    assert stages[CODE]["outs"] == [str(CODE_FILE)]


def test_how_a_machine_runs_a_training_is_no_stage_s_parameter(stages: dict[str, Any]) -> None:
    assert "compute" not in repr(stages)


def test_a_person_reads_the_pipeline_from_top_to_bottom() -> None:
    assert len((ROOT / "dvc.yaml").read_text().splitlines()) <= 250
    # ten arms' parameters, three stages each, are most of it
    assert len((ROOT / "dvc.lock").read_text().splitlines()) <= 3400


def test_every_parameter_of_a_stage_is_in_params_file(stages: dict[str, Any]) -> None:
    values = yaml.safe_load((ROOT / "params.yaml").read_text())
    keys = {key for stage in stages.values() for key in stage.get("params", [None])[:-1]}
    for key in keys - {"selection.own.${key}"}:
        section = values
        for part in key.replace("${key}", "base").split("."):
            assert part in section, f"{key} is not in params.yaml"
            section = section[part]


def test_what_a_stage_reads_is_there_or_made_by_another(stages: dict[str, Any]) -> None:
    made = {
        path.replace("${key}", "x")
        for stage in stages.values()
        for kind in ("outs", "metrics", "plots")
        for entry in stage.get(kind, [])
        for path in ([entry] if isinstance(entry, str) else entry)
    }
    read = {path for stage in stages.values() for path in stage.get("deps", [])}
    start, subset = "data/06_models/${item.start}", "data/05_model_input/subsets/${item.selection}.parquet"
    probed = "data/06_models/${ceilings.start}"
    assert {start, subset, probed} <= read
    for path in read - {start, subset, probed}:
        known = any(out == path.replace("${key}", "x") or out.startswith(f"{path}/") for out in made)
        assert known or (ROOT / path).exists(), path


def test_no_artifact_has_two_makers(stages: dict[str, Any]) -> None:
    outs = [
        str(entry)
        for stage in stages.values()
        for kind in ("outs", "metrics", "plots")
        for entry in stage.get(kind, [])
    ]
    assert len(outs) == len(set(outs))


def test_plots_are_pictures(stages: dict[str, Any]) -> None:
    """DVC draws tables of numbers with scripts that its page loads from the network."""
    plots = [path for stage in stages.values() for path in stage.get("plots", [])]
    assert plots
    assert all(path.endswith(".png") for path in plots)


def test_one_file_of_metrics_lies_in_git(stages: dict[str, Any]) -> None:
    """Its names are short in DVC's tables while no second file has them; a clone can be compared with it."""
    metrics = [entry for stage in stages.values() for entry in stage.get("metrics", [])]
    path = "data/08_reporting/comparison/headline.json"
    assert metrics == [{path: {"cache": False}}]
    ignored = subprocess.run(["git", "check-ignore", "-q", path], cwd=ROOT, check=False)
    assert ignored.returncode == 1


def test_packages_that_hand_names_on_when_asked_are_known_for_it() -> None:
    files = (ROOT / "src").rglob("__init__.py")
    hand_on = {file for file in files if "def __getattr__" in file.read_text(encoding="utf-8")}
    assert hand_on == {ROOT / "src" / name.replace(".", "/") / "__init__.py" for name in LAZY}


@pytest.mark.parametrize("name", LAZY)
def test_nothing_takes_from_a_lazy_package_what_it_hands_on(name: str) -> None:
    """What it hands on, once asked, is no code of a stage: see `tool.kedro-repro.code.lazy-packages`."""
    package = ROOT / "src" / name.replace(".", "/") / "__init__.py"
    offered = set(importlib.import_module(name).__all__)
    taken = {
        (path.relative_to(ROOT).as_posix(), alias.name)
        for path in (ROOT / "src").rglob("*.py")
        for found in ast.walk(ast.parse(path.read_text()))
        if path != package and isinstance(found, ast.ImportFrom) and found.module == name
        for alias in found.names
        if alias.name in offered
        and not (package.parent / alias.name).exists()
        and not (package.parent / f"{alias.name}.py").exists()
    }
    assert taken == set()


def test_every_shipped_policy_has_a_name_of_its_own(root: Path, tmp_path: Path) -> None:
    """DVC itself reads the names, and finds under each what an arm's stage train writes."""
    from dvc.repo import Repo

    repo = Repo.init(str(tmp_path), no_scm=True)
    shutil.copy(root / "dvc.yaml", tmp_path)
    shutil.copy(root / "params.yaml", tmp_path)
    [named] = repo.artifacts.read().values()
    arms = yaml.safe_load((root / "params.yaml").read_text())["arms"]
    assert {entry.path for entry in named.values()} == {f"data/06_models/arms/{arm}" for arm in arms}
    assert {entry.type for entry in named.values()} == {"model"}
