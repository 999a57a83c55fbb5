"""Recipes: whole params files, each with a header that says what it needs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from radrl.params.schema import read
from radrl.studies.file import read as read_study
from radrl.studies.gains import runs_by_split

FILES = sorted((Path(__file__).parents[1] / "conf" / "recipes").glob("*.yaml"))
STUDIES = [path for path in FILES if path.stem.startswith("study-")]
RECIPES = [path for path in FILES if path not in STUDIES]


def test_params_file_is_the_laptop_recipe(root: Path) -> None:
    assert (root / "params.yaml").read_bytes() == (root / "conf/recipes/phantom-laptop.yaml").read_bytes()


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_recipe_is_valid(recipe: Path) -> None:
    assert read(recipe).arms


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_file_says_its_name_needs_launch_run_and_papers(file: Path) -> None:
    header = file.read_text().split("\n\n", 1)[0]
    kind = "Study:" if file in STUDIES else "Recipe:"
    assert header.splitlines()[0].split()[:3] == ["#", kind, file.stem]
    keys = ["needs", "launch", "run", "papers"]
    assert re.findall(rf"^# ({'|'.join(keys)})  +\S", header, flags=re.MULTILINE) == keys


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_file_says_where_it_was_run_or_never(file: Path, root: Path) -> None:
    (said,) = re.findall(r"^# run      (.+)$", file.read_text(), flags=re.MULTILINE)
    if said == "never":
        assert f"recipes/{file.name}` from" not in "".join(page.read_text() for page in results(root))
    else:
        page = said.split(",")[0]  # behind it, which seeds, where not all have run
        assert file.stem in (root / page).read_text()


def results(root: Path) -> list[Path]:
    """Committed pages of studies as they ship."""
    return sorted((root / "docs/results").glob("*.md"))


@pytest.fixture(scope="module")
def workspace(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `dvc repro --dry` needs of a clone, without git and without data."""
    clone = tmp_path_factory.mktemp("clone")
    for name in ("src", "conf"):
        shutil.copytree(root / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(root / "dvc.yaml", clone)
    (clone / "data" / "01_raw").mkdir(parents=True)
    subprocess.run(["dvc", "init", "--no-scm", "--quiet"], cwd=clone, check=True)
    return clone


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_recipe_is_one_whole_study_to_dvc(recipe: Path, workspace: Path) -> None:
    shutil.copy(recipe, workspace / "params.yaml")
    done = subprocess.run(
        ["dvc", "repro", "--dry", "--force", *_targets(recipe)], cwd=workspace, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    ran = set(re.findall(r"Running stage '([^']+)'", done.stdout))
    arms = read(recipe).arms
    assert {f"{stage}@{arm}" for stage in ("train", "generate", "eval") for arm in arms} <= ran
    assert {"ingest", "label", "policy", "compare"} <= ran
    trains = any(arm.start == "sft" for arm in arms.values())
    draws = any(arm.selection in ("ddsampling", "most_diverse") for arm in arms.values())
    if _targets(recipe):
        assert ("sft" in ran, "rollouts" in ran) == (trains or draws, draws)


def _targets(recipe: Path) -> list[str]:
    """What the launch line asks `dvc repro`, or `make repro`, for."""
    launch = re.search(r"&& (?:dvc|make) repro ?(\w*)", recipe.read_text())
    assert launch or recipe.stem == "phantom-laptop"
    return [launch[1]] if launch and launch[1] else []


PARTS = ("start", "reward", "credit", "oracle", "output")


@pytest.mark.parametrize("study", STUDIES, ids=lambda path: path.stem)
def test_an_arm_of_a_study_has_the_parts_of_the_recipes_arm_of_that_name(study: Path) -> None:
    """Films and budget may be the study's own; what the name stands for may not."""
    given = yaml.safe_load(study.read_text())
    shipped = yaml.safe_load(study.with_name(given["recipe"]).read_text())["arms"]
    for name, arm in (given.get("arms") or {}).items():
        for part in PARTS if name in shipped else ():
            assert arm.get(part) == shipped[name].get(part), (name, part)


def drawn() -> list[Path]:
    """Studies on the shipped recipe, whose trainings the run cache shares."""
    return [file for recipe in DRAWN for file in studies_of(recipe)]


DRAWN = ("phantom-laptop", "phantom-60-updates")


def studies_of(recipe: str) -> list[Path]:
    return [file for file in STUDIES if yaml.safe_load(file.read_text())["recipe"] == f"{recipe}.yaml"]


@pytest.mark.parametrize("recipe", DRAWN)
def test_an_arm_has_the_same_settings_in_every_study_on_drawn_films(root: Path, recipe: str) -> None:
    """So that it is trained once: the run cache knows a training by its arm's name and settings."""
    told: dict[str, dict[str, list[str]]] = {}
    for file in (root / f"conf/recipes/{recipe}.yaml", *studies_of(recipe)):
        for name, arm in (yaml.safe_load(file.read_text()).get("arms") or {}).items():
            told.setdefault(name, {}).setdefault(json.dumps(arm, sort_keys=True), []).append(file.stem)
    assert {name: list(by.values()) for name, by in told.items() if len(by) > 1} == {}


@pytest.mark.parametrize("study", drawn(), ids=lambda path: path.stem)
def test_what_an_arm_on_the_shipped_films_trains_with_is_its_own(study: Path) -> None:
    """A setting of the whole file would train every arm anew; a run may vary one."""
    changed = yaml.safe_load(study.read_text()).get("set") or {}
    assert [key for key in changed if key.split(".")[0] in ("training", "sft", "policy", "selection")] == []


COUNTS = (
    (1, "one"),
    (3, "three"),
    (4, "four"),
    (5, "five"),
    (6, "six"),
    (7, "seven"),
    (8, "eight"),
    (9, "nine"),
    (10, "ten"),
    (11, "eleven"),
    (12, "twelve"),
)
NUMBERS = dict(COUNTS) | {2: "two", 30: "thirty"}


@pytest.mark.parametrize("study", drawn(), ids=lambda path: path.stem)
def test_a_study_that_says_how_many_trainings_it_needs_is_right(study: Path, root: Path) -> None:
    said = re.search(r"(\w+) trainings? (?:a seed|of seed 0)", study.read_text())
    if said:
        runs = read_study(study, root).runs
        trained = [run for name, run in runs.items() if name not in runs_by_split(runs)[1:]]
        trainings = sum(bool(arm.reward) for run in trained for arm in run.arms.values())
        assert NUMBERS[trainings] == said[1].lower()


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_an_arm_without_the_format_reward_is_not_asked_for_the_form(file: Path) -> None:
    """Else its row would not show what the format reward adds (MRG-R1, table II); of arms that train."""
    given = yaml.safe_load(file.read_text()).get("arms") or {}
    arms = {name: arm for name, arm in given.items() if arm.get("reward")}
    asked = {name for name, arm in arms.items() if arm.get("output") == "think_report"}
    judged = {name for name, arm in arms.items() if "format" in (arm.get("reward") or {})}
    assert asked == judged
