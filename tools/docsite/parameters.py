"""The reference of params.yaml: every key, what it takes, its default, its shipped value and its comment."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from docsite.made import Made, table
from docsite.shipped import Shipped, code
from radrl.params.schema import Params
from radrl.parts.kinds import KINDS

FOLDER = "reference/parameters"
INTRODUCTION = """# Parameters

`params.yaml` is the one place of numbers. It is validated before anything loads: an unknown key, a wrong type
or a number out of bounds is refused by name, with the valid ones. Strings are never taken for numbers.

These pages are made from that schema (`radrl.params.schema`). Beside each key stands what `params.yaml` ships
with and its comment; of a key under `arms` the first arm that has it; of a key that `params.yaml` has not, a
recipe of `conf/recipes`, which is named. "required" means that the section has no default for it.

"""


class _Lenient(GenerateJsonSchema):
    """What has no JSON schema is any value: the page is for people."""

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> dict[str, Any]:
        return {}


def pages() -> list[Made]:
    """A page for each section of params.yaml, after one for the keys that stand alone."""
    schema = Params.model_json_schema(schema_generator=_Lenient)
    reference = _Reference(schema["$defs"], Shipped.read())
    sections = {key: reference.section(own) for key, own in schema["properties"].items()}
    alone = {key: own for key, own in schema["properties"].items() if sections[key] is None}
    made = [
        Made(f"{FOLDER}/{key}.md", key, f"# {key}\n\n{reference.page(key, own)}")
        for key, own in schema["properties"].items()
        if sections[key] is not None
    ]
    rows = [[f"[`{page.title}`]({page.title}.md)", reference.said_of(page.title, schema)] for page in made]
    first = (
        INTRODUCTION + reference.table("", alone, required=list(alone)) + "\n" + table(["section", ""], rows)
    )
    return [Made(f"{FOLDER}/index.md", "params.yaml", first), *made]


class _Reference:
    """Pages over a JSON schema's definitions and the values that ship."""

    def __init__(self, definitions: dict[str, Any], shipped: Shipped) -> None:
        self._definitions = definitions
        self._shipped = shipped

    def said_of(self, key: str, schema: dict[str, Any]) -> str:
        """What the section of a key is for."""
        found = self.section(schema["properties"][key])
        return _first(found[1]) if found else ""

    def section(self, own: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
        """What keys a value may have, and the part of the dotted key between, such as `.<name>`; or None."""
        if "$ref" in own:
            found = self._definitions[own["$ref"].rsplit("/", 1)[1]]
            return ("", found) if "properties" in found else None
        if isinstance(own.get("additionalProperties"), dict):
            inner = self.section(own["additionalProperties"])
            return (f".<name>{inner[0]}", inner[1]) if inner else None
        return next(
            (found for kind in _kinds(own) if kind is not own and (found := self.section(kind))), None
        )

    def page(self, key: str, own: dict[str, Any], level: int = 2) -> str:
        """The table of a section, then those of the sections in it."""
        between, found = self.section(own) or ("", {})
        key += between
        text = f"{_said(found)}\n\n{_of_parts(key)}"
        if found["properties"]:
            text += self.table(key, found["properties"], found.get("required", []))
        for name, inner in found["properties"].items():
            for kind in filter(self.section, _kinds(inner)):
                head = f"{'#' * min(level, 4)} `{key}.{name}`{self._marked(kind)}"
                text += f"\n{head}\n\n{self.page(f'{key}.{name}', kind, level + 1)}"
        return text

    def _marked(self, own: dict[str, Any]) -> str:
        """The key that tells this section from others in its place, such as `backend: folder`."""
        fields = (self.section(own) or ("", {}))[1].get("properties", {})
        marks = (f" with `{name}: {field['const']}`" for name, field in fields.items() if "const" in field)
        return next(marks, "")

    def table(self, key: str, fields: dict[str, Any], required: list[str]) -> str:
        """A row a key."""
        rows = [
            self._row(f"{key}.{name}".lstrip("."), name, own, name in required)
            for name, own in fields.items()
        ]
        return table(["key", "takes", "default", "ships with", ""], rows)

    def _row(self, key: str, name: str, own: dict[str, Any], required: bool) -> list[str]:
        default = "required" if required else code(own["default"]) if "default" in own else "empty"
        shipped, comment = self._shipped.of(key, value=self.section(own) is None)
        return [f"`{name}`", self.takes(own), default, shipped, comment]

    def takes(self, own: dict[str, Any]) -> str:
        """What a value may be, in words."""
        if "enum" in own or "const" in own:
            return _either([f"`{value}`" for value in own.get("enum", [own.get("const")])])
        for several in ("anyOf", "oneOf"):
            if several in own:
                return _either(list(dict.fromkeys(self.takes(kind) for kind in own[several])))
        if "$ref" in own:
            found = self._definitions[own["$ref"].rsplit("/", 1)[1]]
            return "a section" if "properties" in found else self.takes(found)
        return _KINDS.get(own.get("type", ""), _anything)(self, own)

    def array(self, own: dict[str, Any]) -> str:
        least, most = own.get("minItems"), own.get("maxItems")
        number = f"{least}, each: " if least is not None and least == most else ""
        return f"list of {number}{self.takes(own.get('items', {}))}" + (", not empty" if least == 1 else "")

    def mapping(self, own: dict[str, Any]) -> str:
        inner = own.get("additionalProperties")
        if not isinstance(inner, dict):
            return "mapping"
        names = own.get("propertyNames", {}).get("enum")
        of = f" of {_either([f'`{name}`' for name in names])}" if names else ""
        return f"mapping{of} to {self.takes(inner)}"


def _anything(reference: _Reference, own: dict[str, Any]) -> str:
    return "any value"


def _number(reference: _Reference, own: dict[str, Any]) -> str:
    words = "whole number" if own["type"] == "integer" else "number"
    bounds = [
        f"{said} {own[key]:g}"
        for key, said in (
            ("minimum", "at least"),
            ("exclusiveMinimum", "above"),
            ("maximum", "at most"),
            ("exclusiveMaximum", "below"),
        )
        if key in own
    ]
    if own.get("minimum") is not None and own.get("maximum") is not None:
        bounds = [f"{own['minimum']:g} to {own['maximum']:g}"]
    return f"{words}, {' and '.join(bounds)}" if bounds else words


_KINDS = {
    "integer": _number,
    "number": _number,
    "boolean": lambda reference, own: "`true` or `false`",
    "string": lambda reference, own: "text",
    "null": lambda reference, own: "`null`",
    "array": _Reference.array,
    "object": _Reference.mapping,
}


def _either(words: list[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def _kinds(own: dict[str, Any]) -> list[dict[str, Any]]:
    """What a value may be one of, down to the single ones."""
    several = own.get("anyOf", own.get("oneOf"))
    return [own] if several is None else [kind for one in several for kind in _kinds(one)]


@cache
def _kinds_of_parts() -> dict[str, list[str]]:
    """Kinds of parts by the section that holds those of the kind."""
    by_section: dict[str, list[str]] = {}
    for kind in KINDS.values():
        by_section.setdefault(kind.section.replace("ARM", "<name>"), []).append(kind.name)
    return by_section


def _of_parts(key: str) -> str:
    named = [f"[{kind}](../parts.md#{kind})" for kind in _kinds_of_parts().get(key, [])]
    return f"Holds the settings of each {_either(named)} by its name.\n\n" if named else ""


def _said(section: dict[str, Any]) -> str:
    return str(section.get("description", "")).replace("<", "&lt;")


def _first(section: dict[str, Any]) -> str:
    return _said(section).split("\n\n")[0].replace("\n", " ")
