"""A page that is made when the site is built, and Markdown's small parts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Made:
    """A page: its path in the site, its title in the navigation, its Markdown."""

    path: str
    title: str
    text: str


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table; what a cell holds may have bars."""
    lines = [header, ["---"] * len(header), *([cell.replace("|", r"\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
