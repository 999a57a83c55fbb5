"""docs/mistakes.md says what every mistake on it is told; each row is made here."""

from __future__ import annotations

import copy
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from damaged_weights import damage, shard, tensor
from PIL import Image
from projects import copy as copied

from kedro_repro.programs import NO_GIT
from radrl.commands.main import cli
from radrl.data.quarantine import TooManyQuarantined
from radrl.data.tables import SourceError
from radrl.doctor.recipe import lacking
from radrl.params.messages import ParamsError
from radrl.params.schema import read, validate
from radrl.process import importing
from radrl.storage import yaml_files
from radrl.storage.complete_weights import WeightsError

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "mistakes.md").read_text(encoding="utf-8")


def rows(title: str) -> list[Any]:
    """The rows of the table under a heading."""
    part = PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]
    lines = [line.strip("| ").split(" | ", 1) for line in part.splitlines() if line.startswith("| ")]
    return [pytest.param(asked.strip("`"), said, id=asked.strip("`")) for asked, said in lines[2:]]


def said(message: str, expected: str) -> bool:
    """Whether a message has the words of the page, where … may be anything."""
    words = ".*".join(re.escape(part.strip()) for part in expected.split("…"))
    return re.search(words, " ".join(message.split())) is not None


def changed(row: str) -> dict[str, Any]:
    """The shipped parameters with what a row says in place of its key."""
    loaded: dict[str, Any] = copy.deepcopy(yaml_files.read(ROOT / "params.yaml"))
    key, _, value = row.partition(": ")
    *sections, last = key.split(".")
    at = loaded
    for section in sections:
        at = at[section]
    at[last] = yaml_files.load(value)
    return loaded


def test_there_are_at_least_twenty() -> None:
    titles = [line.removeprefix("## ") for line in PAGE.splitlines() if line.startswith("## ")]
    assert sum(len(rows(title)) for title in titles) >= 20


@pytest.mark.parametrize(("row", "expected"), rows("In params.yaml"))
def test_parameters(row: str, expected: str) -> None:
    with pytest.raises(ParamsError) as refused:
        validate(changed(row))
    assert said(str(refused.value), expected), refused.value


def test_a_tab(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text("seed: 0\npolicy:\n\tdtype: float32\n")
    with pytest.raises(ParamsError) as refused:
        read(tmp_path / "params.yaml")
    assert f"`{refused.value}`".replace(str(tmp_path), "…") in PAGE


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project without data, in a git repository."""
    own = copied(tmp_path_factory.mktemp("project"))
    for name in (".dvc", ".dvcignore", "dvc.yaml"):
        source = ROOT / name
        (shutil.copy if source.is_file() else _settings_of)(source, own / name)
    subprocess.run(["git", "init", "--quiet"], cwd=own, check=True)
    return own


def _settings_of(folder: Path, target: Path) -> None:
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns("cache", "tmp", "config.local"))


@pytest.mark.parametrize(("row", "expected"), rows("On the command line"))
def test_commands(row: str, expected: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, *arguments = row.split()
    monkeypatch.chdir(project)
    monkeypatch.setenv("PYTHONPATH", importing.first(project / "src", os.environ))
    monkeypatch.setenv("COLUMNS", "200")
    if program == "radrl":
        run = CliRunner().invoke(cli, arguments)
        code, told = run.exit_code, run.stderr
    else:
        done = subprocess.run([sys.executable, "-m", program, *arguments], capture_output=True, text=True)
        code, told = done.returncode, done.stderr
    assert code != 0
    assert "Traceback" not in told
    assert said(told, expected), told


def test_no_project_and_no_git(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke(cli, ["repro"])
    assert run.exit_code == 2
    assert "change into the folder that holds dvc.yaml" in run.stderr
    shutil.copytree(project, tmp_path / "bare", ignore=shutil.ignore_patterns(".git"))
    monkeypatch.chdir(tmp_path / "bare")
    run = CliRunner().invoke(cli, ["repro"])
    assert run.exit_code == 1
    assert run.stderr.strip().endswith(f"is not a git repository{NO_GIT}")
    assert f"is not a git repository{NO_GIT}`" in " ".join(PAGE.split())


@pytest.mark.parametrize(("row", "expected"), rows("What is asked for and is not there"))
def test_what_lacks(row: str, expected: str, tmp_path: Path) -> None:
    recipe = tmp_path / "params.yaml"
    recipe.write_text(yaml.safe_dump(changed(row)))
    (one,) = lacking(recipe, ROOT, ["policy"])
    assert said(f"{one.name}: {one.said}. Mend: {one.mend}", expected), one


def _table(folder: Path, header: str, *, films: bool = True) -> None:
    (folder / "reports.csv").write_text(f"{header}\na.png,The heart is large.\nb.png,No effusion is seen.\n")
    for name in ("a.png", "b.png") if films else ():
        Image.new("L", (64, 64), 90).save(folder / name)


WRONG: dict[str, Callable[[Path], None]] = {
    "no file": lambda folder: None,
    "no column": lambda folder: _table(folder, "image,text"),
    "no film": lambda folder: _table(folder, "image,findings", films=False),
    "no text": lambda folder: _table(folder, "image,report"),
}


def _damaged(kind: str) -> Callable[[Path], None]:
    return lambda folder: damage(*tensor(folder, "model.layers.1.mlp.down_proj.weight"), kind)


INCOMPLETE: dict[str, Callable[[Path], None]] = {
    "a tensor lacks": _damaged("gone"),
    "a tensor is of another shape": _damaged("odd"),
    "a number is NaN": _damaged("nan"),
    "a shard lacks": lambda folder: (folder / "model-00002-of-00002.safetensors").unlink(),
}


@pytest.mark.parametrize(("row", "expected"), rows("In a folder of weights"))
def test_weights(row: str, expected: str, tmp_path: Path) -> None:
    from radrl.policy import folder

    own = tmp_path / "policy"
    shutil.copytree(ROOT / "data/06_models/radrl-tiny", own)
    shard(own)
    INCOMPLETE[row](own)
    with pytest.raises(WeightsError) as refused:
        folder.load(own)
    assert said(str(refused.value), expected), refused.value


@pytest.mark.parametrize(("row", "expected"), rows("In your own CSV"))
def test_a_csv(row: str, expected: str, tmp_path: Path) -> None:
    from radrl.pipelines.ingest import read_source

    WRONG[row](tmp_path)
    columns = dict.fromkeys(
        ["image", "report", "findings", "impression", "patient", "study", "split", "view"]
    )
    held = "findings" if row == "no film" else "report"
    own = {"path": str(tmp_path / "reports.csv"), "image_root": str(tmp_path), "views": {}}
    ingest = changed("seed: 0")["ingest"] | {
        "source": "csv",
        "csv": own | {"columns": columns | {"image": "image", held: held}},
    }
    with pytest.raises((SourceError, TooManyQuarantined)) as refused:
        list(read_source(ingest, 0, tmp_path / "workspace")[0])
    assert said(str(refused.value), expected), refused.value
