"""The table of built-in parts, and what is said of parts in general."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from radrl.commands.parts import command
from radrl.params.schema import read
from radrl.parts import find as finding
from radrl.parts.builtin import BUILTIN
from radrl.parts.find import Part, PartError, SignatureError, find, ingredients, section_of
from radrl.parts.kinds import KINDS
from radrl.parts.section import Section

EVERY = [(kind, name) for kind, parts in BUILTIN.items() for name in parts]


@pytest.mark.parametrize(("kind", "name"), EVERY)
def test_every_built_in_part_is_there_and_says_what_it_is(kind: str, name: str) -> None:
    part = find(kind, name)
    assert issubclass(part.section, Section)
    assert part.summary.endswith(".")
    modules = [path.partition(":")[0] for path in BUILTIN[kind].values()]
    if kind in {"reward", "credit", "selection", "source", "metric", "labeler", "judge"}:
        assert modules.count(part.module) == 1  # a change in one touches no arm with another


def test_every_kind_has_its_parts() -> None:
    assert KINDS.keys() == BUILTIN.keys()


def test_sections_of_all_recipes_are_those_of_their_parts(root: Path) -> None:
    for file in sorted((root / "conf" / "recipes").glob("*.yaml")):
        if file.name.startswith("study-"):
            continue
        params, given = read(file), yaml.safe_load(file.read_text())
        for name, arm in given["arms"].items():
            held = params.arms[name].reward
            told = {key for key, own in (arm.get("reward") or {}).items() if own is not None}
            assert (held.parts().keys() if held else set()) == told


def test_reading_params_needs_no_heavy_import(root: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from radrl.params.schema import read; "
        f"read(Path({str(root / 'params.yaml')!r})); "
        "print(sorted({'torch', 'transformers', 'pandas', 'pyarrow', 'scipy'} & {*sys.modules}))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


def test_package_that_offers_a_taken_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    offered = EntryPoints([EntryPoint("bleu2", "lab:bleu", "radrl.rewards")])
    monkeypatch.setattr(finding, "_installed", lambda: offered)
    said = r"the package lab offers a reward 'bleu2', a name that is taken; rename it in its entry points"
    with pytest.raises(PartError, match=said):
        finding.names("reward")


def no_type(reports: Any, *, words=3):
    """A setting without a type."""


def any_setting(reports: Any, **settings: Any):
    """Settings of any name."""


class NoSection:
    """A Section that is none."""

    Section = dict


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (no_type, "says no type of its setting 'words'; annotate it"),
        (any_setting, r"takes settings of any name; name them after the \*, or give it a Section"),
        (NoSection, r"has a Section that is not derived from radrl\.parts\.section\.Section"),
    ],
)
def test_settings_that_cannot_be_checked_are_refused(part: Any, said: str) -> None:
    with pytest.raises(SignatureError, match=said):
        section_of(part)


def test_any_number_of_arguments_is_refused() -> None:
    with pytest.raises(SignatureError, match="takes any number of arguments"):
        ingredients(print)


def test_object_without_its_method_is_refused() -> None:
    part = Part(KINDS["credit"], "mine", f"{Path.__module__}:Path", "built-in", "credit.mine")
    with pytest.raises(PartError, match="has no method weigh"):
        _ = part.object


@pytest.mark.parametrize("asked", [[], ["--markdown"], ["reward"]])
def test_command_lists_parts_with_their_settings(asked: list[str]) -> None:
    said = CliRunner().invoke(command, asked).output
    for kind, name in EVERY:
        if asked != ["reward"] or kind == "reward":
            assert BUILTIN[kind][name] in said
    assert ("radrl.scoring" in said) == (asked != ["reward"])
    assert "both_empty" in said
