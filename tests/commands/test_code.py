"""`radrl code`: the file that DVC compares, and a stage's files."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
import yaml

from kedro_repro.code_digests import CODE_FILE, digests
from kedro_repro.project import load
from radrl.commands import stages

ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder that is the project, as far as the command looks."""
    (tmp_path / "conf" / "recipes").mkdir(parents=True)
    (tmp_path / "dvc.yaml").touch()
    for name in ("params.yaml", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_digests_are_written_and_left_alone_while_nothing_changes(radrl, project):
    assert radrl("code").exit_code == 0
    file = project / CODE_FILE
    assert yaml.safe_load(file.read_text()) == digests(
        load(ROOT), yaml.safe_load((ROOT / "params.yaml").read_text())
    )
    before = file.stat().st_mtime_ns
    assert radrl("code").exit_code == 0
    assert file.stat().st_mtime_ns == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_files_of_a_stage_are_listed(radrl, project):
    listed = radrl("code", "train@grpo").stdout.splitlines()
    assert any(line.endswith("src/radrl/rewards/ce_f1.py") for line in listed)
    assert not any("rewards/mccs" in line or "hacking" in line for line in listed)


@pytest.mark.parametrize(
    ("stage", "said"),
    [
        ("train@gpro", "no stage 'train@gpro'; did you mean 'train@grpo'?"),
        ("train", "no stage 'train'"),
        ("labels", "did you mean 'label"),
    ],
)
def test_a_stage_that_is_none_is_refused_with_the_nearest(radrl, project, stage, said):
    result = radrl("code", stage)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_part_that_is_not_there_is_named(radrl, project):
    params = yaml.safe_load((project / "params.yaml").read_text())
    params["arms"]["grpo"]["reward"]["breviti"] = {"weight": 1.0}
    (project / "params.yaml").write_text(yaml.safe_dump(params))
    result = radrl("code")
    assert result.exit_code == 1
    assert "arms.grpo.reward.breviti: no reward 'breviti'" in result.stderr
    assert not (project / CODE_FILE).exists()


@pytest.fixture
def other(project):
    """A project with a package of its own, which is not the one that runs the tests."""
    package = project / "src" / "radrl"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    return project


def test_the_projects_own_package_is_started(other, monkeypatch):
    started = []

    class Replaced(BaseException):
        """As `execve` does not return."""

    def execve(program, arguments, environment):
        started.append((program, arguments, environment["PYTHONPATH"].split(os.pathsep)))
        raise Replaced

    monkeypatch.setattr(stages.os, "execve", execve)
    monkeypatch.setattr(stages.sys, "orig_argv", ["python", "-m", "radrl.commands", "code"])
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    with pytest.raises(Replaced):
        stages._be_of(other)
    assert started == [
        (sys.executable, [sys.executable, "-m", "radrl.commands", "code"], [str(other / "src"), "elsewhere"])
    ]


def test_starting_again_for_ever_is_refused(radrl, other, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(other / "src"))
    result = radrl("code")
    assert result.exit_code == 1
    assert f"not in {other / 'src'}, although PYTHONPATH names that first" in result.stderr
