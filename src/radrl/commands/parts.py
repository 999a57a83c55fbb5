"""`radrl parts`: what params.yaml can name, with its settings."""

from __future__ import annotations

from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import click
from pydantic.fields import FieldInfo

from radrl.parts.find import Part, find, names
from radrl.parts.kinds import KINDS, Kind
from radrl.parts.section import Section

_SIGNS: Final = {
    "ge": ">=",
    "gt": ">",
    "le": "<=",
    "lt": "<",
    "min_length": "at least",
    "max_length": "at most",
}
"""Bounds, by their names in pydantic."""

_EXAMPLES: Final = """\b
Examples:
  radrl parts
  radrl parts reward
  radrl parts --markdown > parts.md"""


@click.command("parts", epilog=_EXAMPLES)
@click.argument("kind", type=click.Choice(list(KINDS)), required=False)
@click.option("--markdown", is_flag=True, help="Print a page instead.")
def command(kind: str | None, markdown: bool) -> None:
    """List the parts that params.yaml can name, or those of one KIND.

    Each with its name, what it is, its import path, and its settings with their types and defaults: those of
    radrl and those that installed packages offer. A part of one's own needs no list: its section says where
    it is with `part: my_lab.rewards:brevity`.
    """
    chosen = [KINDS[kind]] if kind else list(KINDS.values())
    page = _page if markdown else _plain
    click.echo("\n".join(line for each in chosen for line in page(each)).rstrip())


def _plain(kind: Kind) -> Iterator[str]:
    yield f"{kind.name}  ({kind.section})"
    if kind.shared:
        yield from (f"      {line}, of every {kind.name}" for line in _lines(kind.shared))
    for part in _parts(kind):
        yield f"  {part.name}  {part.summary}"
        yield f"      {part.path}" + ("" if part.origin == "built-in" else f"  ({part.origin})")
        yield from (f"      {line}" for line in _lines(part.section))
    yield ""


def _lines(section: type[Section]) -> Iterator[str]:
    for name, kind, default in settings(section):
        yield f"{name}: {kind}" + (f" = {default}" if default else ", required")


def _page(kind: Kind) -> Iterator[str]:
    yield from (f"## {kind.name}", "", f"In params.yaml under `{kind.section}`. {kind.contract}", "")
    if kind.group:
        yield from (f"Entry points: `{kind.group}`.", "")
    if kind.shared:
        yield from (f"Settings of every {kind.name}:", "", *_table(kind.shared))
    for part in _parts(kind):
        yield from (f"### {part.name}", "", f"{part.summary} `{part.path}`", "", *_table(part.section))


def _table(section: type[Section]) -> Iterator[str]:
    rows = settings(section)
    if rows:
        yield from ("| setting | type | default |", "|---|---|---|")
    for name, kind, default in rows:
        yield f"| `{name}` | {kind.replace('|', 'or')} | {default or 'required'} |"
    if rows:
        yield ""


def _parts(kind: Kind) -> Iterator[Part]:
    yield from (find(kind.name, name) for name in names(kind.name))


def settings(section: type[Section]) -> list[tuple[str, str, str]]:
    """The settings of a section.

    Args:
        section: of a part.

    Returns:
        Name, type and default of each; the default is empty where it must be given.
    """
    return [(name, _type(field), _default(field)) for name, field in section.model_fields.items()]


def _type(field: FieldInfo) -> str:
    bounds = [
        f"{sign} {getattr(mark, name):g}"
        for mark in field.metadata
        for name, sign in _SIGNS.items()
        if hasattr(mark, name)
    ]
    return " ".join([_name(field.annotation), *bounds])


def _name(kind: Any) -> str:
    """A type as a reader of YAML would say it."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        return " | ".join(map(str, inner))
    if origin is Annotated:
        return _name(inner[0])
    if origin in (Union, UnionType):
        return " | ".join(map(_name, inner))
    if inner:
        return f"{_name(origin)}[{', '.join(map(_name, inner))}]"
    return "null" if kind is type(None) else str(getattr(kind, "__name__", kind))


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return ""
    value = field.get_default(call_default_factory=True)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)
