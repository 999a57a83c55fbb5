"""Made-up comparisons, and a project of three files whose study is one script."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from radrl.studies.budget import Budget
from radrl.studies.page import Described

METRICS = ["f1", "bleu"]
VALUES = {  # by arm and metric, a value a seed
    ("sft", "f1"): [0.30, 0.34, 0.32],
    ("grpo", "f1"): [0.40, 0.43, 0.43],  # differences 0.10, 0.09, 0.11
    ("dpo", "f1"): [0.30, 0.36, 0.29],
    ("constant", "f1"): [0.35, 0.35, 0.35],
    ("reference_report", "f1"): [1.0, 1.0, 1.0],
    ("sft", "bleu"): [0.2, 0.2, 0.2],
    ("grpo", "bleu"): [0.2, 0.2, 0.2],
    ("dpo", "bleu"): [0.1, 0.1, 0.1],
    ("constant", "bleu"): [0.15, 0.25, 0.05],
    ("reference_report", "bleu"): [1.0, 1.0, 1.0],
}
KINDS = {"constant": "trivial", "reference_report": "ceiling"}
SCRIPT = """\
import pathlib, time, yaml
seed = yaml.safe_load(open("params.yaml"))["seed"]
if pathlib.Path("slow").exists():
    pathlib.Path("working").touch()
    time.sleep(60)
if pathlib.Path("broken").exists():
    raise SystemExit("the films are gone")
raw = pathlib.Path("data/01_raw/films.txt").read_text().strip()
out = pathlib.Path("data/08_reporting/comparison")
out.mkdir(parents=True, exist_ok=True)
(out / "comparison.csv").write_text(f"arm,kind,metric,value\\nsft,arm,{raw},{seed}\\n")
"""


@pytest.fixture
def rows() -> pd.DataFrame:
    lines = []
    for (arm, metric), values in VALUES.items():
        for seed, value in enumerate(values):
            line: dict[str, Any] = {"run": "", "arm": arm, "kind": KINDS.get(arm, "arm"), "metric": metric}
            line |= {"value": value, "seed": seed}
            if arm not in ("sft", "reference_report"):
                difference = value - VALUES["sft", metric][seed]
                ends = {"difference_low": difference - 0.04, "difference_high": difference + 0.04}
                line |= {"difference": difference, "p": 0.02, **ends}
            lines.append(line)
    return pd.DataFrame(lines).sort_values("seed", kind="stable")


@pytest.fixture
def described() -> Callable[..., Described]:
    def make(**changed: Any) -> Described:
        arms = {"sft": 0, "grpo": 50, "dpo": 50}
        budgets = {("", arm): Budget("sft", "full", n, n * 64, 0) for arm, n in arms.items()}
        given: dict[str, Any] = {
            "title": "A trial",
            "recipe": "phantom-laptop.yaml",
            "changes": {},
            "variations": {"": {}},
            "source": "phantom",
            "drawn": True,
            "corpus": "5f1e",
            "command": "radrl study study-trial.yaml",
            "metrics": METRICS,
            "reference": "sft",
            "level": 0.95,
            "budgets": budgets,
            "published": None,
        }
        return Described(**given | changed)

    return make


@pytest.fixture(scope="session")
def recipe(root: Path) -> dict[str, Any]:
    values: dict[str, Any] = yaml.safe_load((root / "conf/recipes/phantom-60-updates.yaml").read_text())
    return values


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A committed project; raw data and weights are ignored by git, as in the real one."""
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "script.py").write_text(SCRIPT)
    (folder / "data" / "01_raw").mkdir(parents=True)
    (folder / "data" / "01_raw" / ".gitkeep").touch()
    (folder / "conf" / "base").mkdir(parents=True)
    (folder / "conf" / "base" / "catalog.yml").touch()
    (folder / "conf" / "recipes").mkdir()
    (folder / "conf" / "recipes" / ".gitkeep").touch()  # a clone is a project by it
    (folder / "params.yaml").write_text("seed: 0\n")
    stage = {
        "cmd": f"{sys.executable} src/script.py",
        "deps": ["src/script.py", "data/01_raw"],
        "params": ["seed"],
        "outs": ["data/08_reporting/comparison/comparison.csv"],
    }
    # what the project has behind and beside the comparison is no part of a study
    leaf = {"cmd": "exit 1", "deps": stage["outs"], "outs": ["data/08_reporting/page.html"]}
    aside = {"cmd": "exit 1", "deps": ["data/01_raw"], "outs": ["data/08_reporting/aside.csv"]}
    stages = {"compare": stage, "leaf": leaf, "aside": aside}
    (folder / "dvc.yaml").write_text(yaml.safe_dump({"stages": stages}))
    (folder / ".gitignore").write_text("/data/*/*\n!/data/*/.gitkeep\n/weights\n/broken\n/data/.studies\n")
    commit(folder, first=True)
    (folder / "data" / "01_raw" / "films.txt").write_text("f1")
    (folder / "weights").mkdir()
    (folder / "weights" / "model.bin").write_text("w")
    return folder


def commit(folder: Path, *, first: bool = False) -> None:
    """Commit everything, and first make the repository."""
    name = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    commands = [["git", "init", "--quiet"], [sys.executable, "-m", "dvc", "init", "--quiet"]] if first else []
    commands += [["git", "add", "--all"], ["git", *name, "commit", "--quiet", "--message", "all"]]
    for command in commands:
        subprocess.run(command, cwd=folder, check=True)
