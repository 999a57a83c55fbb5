"""Pages that a command wrote too long to read, as several: cut at headings, and tables between rows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from docsite.made import Made

LIMIT = 20 * 1024
"""Bytes that no page of the site may reach."""
ROOM = 16 * 1024
"""What goes on one page of a long text, before title and warning are said again."""


def size(text: str) -> int:
    """Bytes of a text."""
    return len(text.encode())


def pages(path: str, text: str) -> list[Made]:
    """A text as one page, or as several where it is too long for one.

    Args:
        path: of the page, such as results/arms.md; the others are called results/arms-2.md and so on.
        text: Markdown that begins with its title, and a paragraph that all its pages repeat.

    Returns:
        The pages. Nothing of the text is left out and nothing changed.
    """
    title = text.split("\n", 1)[0].removeprefix("# ")
    if size(text) < LIMIT:
        return [Made(path, title, text)]
    opening = "\n\n".join(text.split("\n\n")[:2])
    groups = list(_packed(_pieces(text)))
    made = []
    for number, group in enumerate(groups, start=1):
        name = f"{title} ({number} of {len(groups)})"
        head = opening.replace(title, name, 1)
        body = group.removeprefix(opening) if number == 1 else "\n\n" + group
        made.append(Made(path if number == 1 else f"{path[:-3]}-{number}.md", name, head + body))
    return made


def _packed(pieces: Iterator[str]) -> Iterator[str]:
    page = ""
    for piece in pieces:
        if page and size(page + piece) > ROOM:
            yield page
            page = ""
        page += piece
    yield page


def _pieces(text: str) -> Iterator[str]:
    for section in re.split(r"(?m)^(?=## )", text):
        yield from _cut(section)


def _cut(section: str) -> Iterator[str]:
    """A section, in pieces that have its heading and its table's header where that table is too long."""
    lines = section.splitlines(keepends=True)
    rows = [number for number, line in enumerate(lines) if line.startswith("|")]
    if size(section) < ROOM or len(rows) < 4:
        yield section
        return
    begin = next(number for number in rows if lines[number].startswith("| ---"))
    middle = _between(lines, (begin + rows[-1] + 1) // 2)
    yield from _cut("".join(lines[:middle]) + "\n")
    yield from _cut("".join([lines[0], "\n", *lines[begin - 1 : begin + 1], *lines[middle:]]))


def _between(lines: list[str], middle: int) -> int:
    """The nearest row from the middle on that begins with something else than the row before."""
    rows = range(middle, len(lines))
    changed = (row for row in rows if lines[row].split("|")[1:2] != lines[row - 1].split("|")[1:2])
    return next(changed, middle)
