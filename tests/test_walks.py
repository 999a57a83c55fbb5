"""The walks of docs/design.md: each step follows from one before it by import, part or artifact."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from radrl.parts.builtin import BUILTIN
from radrl.pipeline_registry import register_pipelines

ROOT = Path(__file__).parents[1]
MOST = 8


def walks() -> list[list[str]]:
    """The modules of each walk, in its order."""
    text = (ROOT / "docs/design.md").read_text(encoding="utf-8")
    section = text.partition("\n## Two walks\n")[2].partition("\n## ")[0]
    steps = re.findall(r"^(\d)\. \[`(.+?)`\]\((.+?)\)", section, flags=re.MULTILINE)
    found: list[list[str]] = []
    for number, shown, target in steps:
        assert target == f"../src/radrl/{shown}"
        if number == "1":
            found.append([])
        found[-1].append("radrl." + shown.removesuffix(".py").replace("/", "."))
    return found


WALKS = walks()
STEPS = [(walk[:place], walk[place]) for walk in WALKS for place in range(1, len(walk))]


def imported(module: str) -> set[str]:
    """What a module imports, at its top or where it needs it."""
    path = ROOT / "src" / module.replace(".", "/")
    tree = ast.parse(path.with_suffix(".py").read_text(encoding="utf-8"))
    names = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    return {str(node.module) for node in names} | {
        f"{node.module}.{alias.name}" for node in names for alias in node.names
    }


def leads_by_a_part(one: str, other: str) -> bool:
    """Whether one of the two is a part that is found by name, where the other asks for parts."""
    asks = {"radrl.rewards.build": "reward", "radrl.pipelines.ingest": "source"}
    for asking, part in ((one, other), (other, one)):
        places = {place.partition(":")[0] for place in BUILTIN.get(asks.get(asking, ""), {}).values()}
        if part in places:
            return True
    return False


def stage(module: str) -> str:
    """The stage whose pipeline a module makes or fills, or nothing."""
    if module == "radrl.data.ingest":
        return "ingest"
    found = re.match(r"radrl\.pipelines\.(\w+)", module)
    return found[1] if found else ""


def leads_by_an_artifact(one: str, other: str) -> bool:
    """Whether the stage of one writes what the stage of the other reads."""
    pipelines = register_pipelines()
    before, after = stage(one), stage(other)
    if not (before and after and before != after):
        return False
    return bool(pipelines[before].all_outputs() & pipelines[after].all_inputs())


def leads(one: str, other: str) -> bool:
    return other in imported(one) or leads_by_a_part(one, other) or leads_by_an_artifact(one, other)


@pytest.mark.parametrize(("before", "step"), STEPS, ids=lambda value: value if isinstance(value, str) else "")
def test_a_step_follows_from_one_before_it(before: list[str], step: str) -> None:
    import_module(step)
    assert any(leads(one, step) for one in before)


def test_walks_are_short() -> None:
    assert len(WALKS) == 2
    assert [len(walk) <= MOST for walk in WALKS] == [True, True]


def test_a_step_that_leads_nowhere_is_noticed() -> None:
    assert not leads("radrl.algorithms.advantages", "radrl.pipelines.compare.page")
