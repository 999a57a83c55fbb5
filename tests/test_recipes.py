"""Recipes: whole params files, each with a header that says what it needs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from radrl.params.schema import read

RECIPES = sorted((Path(__file__).parents[1] / "conf" / "recipes").glob("*.yaml"))


def test_params_file_is_the_laptop_recipe(root: Path) -> None:
    assert (root / "params.yaml").read_bytes() == (root / "conf/recipes/phantom-laptop.yaml").read_bytes()


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_recipe_is_valid(recipe: Path) -> None:
    assert read(recipe).arms


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_recipe_says_its_name_needs_launch_and_papers(recipe: Path) -> None:
    header = recipe.read_text().split("\n\n", 1)[0]
    assert header.splitlines()[0].split()[:3] == ["#", "Recipe:", recipe.stem]
    assert re.findall(r"^# (needs|launch|papers)  +\S", header, flags=re.MULTILINE) == [
        "needs",
        "launch",
        "papers",
    ]
