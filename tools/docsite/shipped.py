"""What ships: the values of params.yaml and the recipes, with the comments beside them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from docsite.made import ROOT

_ENTRY = re.compile(r"^( *)([\w]+):(.*)$")
_COMMENT = re.compile(r"\s#\s(.*)$")


@dataclass(frozen=True)
class Shipped:
    """Params files, in the order they are asked."""

    files: list[tuple[str, dict[str, Any], dict[str, str]]]

    @classmethod
    def read(cls) -> Shipped:
        """params.yaml, then the recipes that are whole params files."""
        recipes = [
            path for path in sorted((ROOT / "conf/recipes").glob("*.yaml")) if "study-" not in path.name
        ]
        return cls([(path.name, *_read(path)) for path in [ROOT / "params.yaml", *recipes]])

    def of(self, key: str, *, value: bool) -> tuple[str, str]:
        """The value of a dotted key, in code, and its comment.

        Args:
            key: `<name>` in it stands for any name, such as an arm's.
            value: false where only the comment is asked for.
        """
        for file, values, comments in self.files:
            for path in _paths(values, key.split(".")):
                shown = code(_at(values, path)) if value else ""
                origin = "" if file == "params.yaml" or not shown else f" ({file.removesuffix('.yaml')})"
                return shown + origin, comments.get(".".join(path), "").replace("<", "&lt;")
        return "", ""


def _read(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    text = path.read_text(encoding="utf-8")
    return yaml.safe_load(text), comments(text)


def comments(text: str) -> dict[str, str]:
    """The comment beside each key of a YAML file in block style, by dotted key."""
    found: dict[str, str] = {}
    above: list[tuple[int, str]] = []
    for entry in filter(None, map(_ENTRY.match, text.splitlines())):
        indent = len(entry[1])
        above = [level for level in above if level[0] < indent] + [(indent, entry[2])]
        if said := _COMMENT.search(entry[3]):
            found[".".join(key for _, key in above)] = said[1].strip()
    return found


def _paths(values: Any, key: list[str]) -> list[list[str]]:
    """The keys that there are, `<name>` standing for any."""
    if not key:
        return [[]]
    if not isinstance(values, dict):
        return []
    names = list(values) if key[0] == "<name>" else [name for name in values if name == key[0]]
    return [[name, *rest] for name in names for rest in _paths(values[name], key[1:])]


def _at(values: Any, path: list[str]) -> Any:
    for name in path:
        values = values[name]
    return values


def code(value: Any) -> str:
    """A value as YAML on one line, in code."""
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False, allow_unicode=True)
    return f"`{text.removesuffix('...' + chr(10)).strip()}`"
