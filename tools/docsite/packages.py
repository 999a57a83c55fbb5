"""What packages and modules say of themselves: a docstring's first line, and what may live in a package."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from docsite.made import ROOT

SOURCE = ROOT / "src/radrl"
LIVES = "Lives here:"
"""How the paragraph of a package's docstring begins that says what may live there."""


def paragraphs(module: Path) -> list[str]:
    """The paragraphs of a module's docstring, each on one line."""
    doc = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    return [" ".join(paragraph.split()) for paragraph in doc.split("\n\n")]


def summary(module: Path) -> str:
    """The first paragraph of a module's docstring."""
    return paragraphs(module)[0].rstrip(".:")


def lives(module: Path) -> str:
    """What may live in a package, or nothing where its docstring does not say."""
    said = (text for text in paragraphs(module) if text.startswith(LIVES))
    return next(said, "").removeprefix(LIVES).strip()


def module_of(name: str) -> Path:
    """The file of a package or module straight below radrl."""
    package = SOURCE / name / "__init__.py"
    return package if package.is_file() else SOURCE / f"{name}.py"


def inside(folder: Path) -> list[Path]:
    """The packages straight inside one."""
    return sorted(path.parent for path in folder.glob("*/__init__.py"))


def modules() -> Iterator[tuple[str, Path]]:
    """Every module with its path below src/radrl, package by package."""
    for path in sorted(SOURCE.rglob("*.py"), key=lambda path: (path.parent.parts, path.name)):
        yield path.relative_to(SOURCE).as_posix(), path
