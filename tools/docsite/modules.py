"""The tree by module: every file with the first line of its docstring."""

from __future__ import annotations

from itertools import groupby

from docsite.long_pages import ROOM, size
from docsite.made import Made, table
from docsite.packages import modules, summary

FOLDER = "reference/modules"


def pages() -> list[Made]:
    """As many pages as it takes, whole packages on each."""
    made: list[list[str]] = [[]]
    for section in _sections():
        if size("".join([*made[-1], section])) > ROOM:
            made.append([])
        made[-1].append(section)
    return [_page(number, sections) for number, sections in enumerate(made, start=1)]


def _sections() -> list[str]:
    """A table a package straight below radrl; the modules of the root are one section."""
    rows = [(name, path) for name, path in modules() if not name.endswith("__init__.py")]
    found = []
    for package, inside in groupby(rows, key=lambda row: row[0].partition("/")[0] if "/" in row[0] else ""):
        title = f"radrl.{package}" if package else "radrl"
        found.append(f"## {title}\n\n{table(['module', ''], [[f'`{n}`', summary(p)] for n, p in inside])}\n")
    return found


def _page(number: int, sections: list[str]) -> Made:
    named = [section.split("\n", 1)[0].removeprefix("## radrl").lstrip(".") for section in sections]
    title = f"{named[0] or 'the root'} to {named[-1]}"
    head = f"# Modules: {title}\n\nEach file of `src/radrl` with the first line of its docstring.\n\n"
    return Made(f"{FOLDER}/{number}.md", title, head + "".join(sections).replace("<", "&lt;"))
