"""What the docs name is there, every page is short enough and in the navigation."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

import pytest
import site_hook
import yaml
from docsite import commands, long_pages, packages

from radrl.pipelines.stages import APART, ONCE, PER_ARM

ROOT = Path(__file__).resolve().parents[1]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
WRITTEN = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS]
by_page = pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.relative_to(ROOT).as_posix())

CODE = re.compile(r"^```.*?^```|^ {4}.*?$|`[^`\n]+`", re.M | re.S)
EXAMPLE = re.compile("my_rewards|brevity|my_lab|my_study|maira|study-none")
"""Names of the walk through one change, and of a system's scores, which nobody has written."""


def code(page: Path) -> str:
    """What stands in code, inline and in blocks."""
    return "\n".join(CODE.findall(page.read_text(encoding="utf-8")))


def test_pages_are_under_20_kb() -> None:
    made = {path: long_pages.size(text) for path, text in site_hook.pages().items()}
    stand = {path.relative_to(ROOT / "docs").as_posix(): path.stat().st_size for path in DOCS}
    assert {path: size for path, size in (stand | made).items() if size >= long_pages.LIMIT} == {}


def places(entries: list[object]) -> list[str]:
    found = []
    for entry in entries:
        inside = next(iter(entry.values())) if isinstance(entry, dict) else entry
        found += places(inside) if isinstance(inside, list) else [str(inside)]
    return found


def test_the_navigation_holds_every_page_once() -> None:
    named = places(
        site_hook.navigation(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])
    )
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in DOCS} | set(site_hook.pages())
    assert sorted(named) == sorted(pages)


def test_nothing_of_the_site_is_loaded_from_elsewhere() -> None:
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert config["theme"]["font"] is False
    assert config["strict"] is True
    assert not [path for path in config["extra_css"] + config.get("extra_javascript", []) if "//" in path]
    assert "url(" not in (ROOT / "docs/site.css").read_text(encoding="utf-8")


@by_page
def test_links_and_pictures_are_there(page: Path) -> None:
    folder = page.parent.relative_to(ROOT).as_posix()
    made = {f"docs/{path}" for path in site_hook.pages()}
    linked = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    paths = [posixpath.normpath(posixpath.join(folder, target)) for target in linked]
    assert [path for path in paths if not (ROOT / path).exists() and path not in made] == []


def asked(program: str, shown: str) -> set[str]:
    """What a program is asked for, where it begins a line or a span of code."""
    return set(re.findall(rf"(?m)(?:^[\s$]*|`|&& ){program} ([a-z][a-z-]*)", shown))


@by_page
def test_commands_are_there(page: Path) -> None:
    shown = code(page)
    assert asked("radrl", shown) <= set(commands.names())
    assert asked("make", shown) <= set(commands.targets())
    stages = [name for names in re.findall(r"--pipelines?=([\w,]+)", shown) for name in names.split(",")]
    wrong = {"evl"} if page.name == "mistakes.md" else set()
    assert set(stages) <= {*ONCE, *PER_ARM, *APART, *wrong}


@by_page
def test_modules_are_there(page: Path) -> None:
    named = re.findall(r"(?<![\w./])radrl(?:\.\w+)+", code(page))
    assert [name for name in named if not module_is_there(name)] == []


def module_is_there(name: str) -> bool:
    """Whether a dotted name is a module, or one of the names in its parent's file."""
    if name == "radrl.rewards":  # the group of entry points and the package alike
        return True
    path = ROOT / "src" / name.replace(".", "/")
    if path.is_dir() or path.with_suffix(".py").is_file():
        return True
    files = [path.parent.with_suffix(".py"), path.parent / "__init__.py"]
    return any(re.search(rf"\b{path.name}\b", file.read_text()) for file in files if file.is_file())


@by_page
def test_files_are_there(page: Path) -> None:
    named = re.findall(r"(?<![\w./])(?:src|tests|tools|conf|bench|docs)/[\w./-]*\w\.\w+", code(page))
    named += [f"src/{path}" for path in re.findall(r"(?<![\w./])radrl/[\w/]+\.py", code(page))]
    there = [path for path in named if not EXAMPLE.search(path)]
    assert [path for path in there if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("package", packages.inside(packages.SOURCE), ids=lambda package: package.name)
def test_every_package_says_what_may_live_there(package: Path) -> None:
    assert packages.lives(package / "__init__.py")
