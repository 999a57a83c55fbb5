"""What the code of every stage does, as a digest a stage and arm: what DVC runs a stage again for.

A stage's code are the modules of its pipeline, all that they import, the parts that params.yaml names for it,
and the files that lie beside these modules (templates, word lists). What only watches a training, draws or
prints is handed to it from outside and is no part of it.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Final

import yaml

import radrl.pipelines
from radrl.parts.builtin import BUILTIN
from radrl.parts.find import Part
from radrl.pipelines.stages import LAST, ONCE, PER_ARM, PER_SELECTION
from radrl.provenance.imports import closure, imported, parse
from radrl.provenance.meaning import meaning
from radrl.provenance.named import named_parts
from radrl.storage import yaml_files
from radrl.storage.whole_files import whole_file

CODE_FILE: Final = Path("data/08_reporting/code.yaml")
"""Where the stage `code` writes the digests, from the project's root."""

_HEADER: Final = (
    "# A digest of what each stage's code does (`radrl code STAGE` lists its files), for DVC to compare.\n"
)

BY_PATH: Final = {
    "radrl.process.isolated.talk": "radrl.process.isolated",
    "radrl.policy.writers.vllm": "radrl.policy.writers.workers",
}
"""Modules that run those of a package by their path, which no import shows."""

TABLES: Final = ("radrl.parts.builtin", "radrl.parts.kinds")
"""Lists of parts, no code: of theirs a stage's digest has what is said there of the parts it works with."""

FACES: Final = {
    "radrl": "radrl.api",
    "radrl.rewards": "radrl.rewards.other_trainers",
    "radrl.credit": "radrl.credit.other_trainers",
}
"""Packages that hand on names of a module once these are asked for, which no import shows.

No module of radrl asks for them, so to its own stages such a package is empty. A part of one's own may.
"""

_EMPTY: Final = meaning(ast.Module([], []))

Digests = dict[str, str | dict[str, str]]
"""By stage its digest, or of a stage that runs for each arm, or own selection, one by its name."""


def digests(params: Mapping[str, Any]) -> Digests:
    """Digest what every stage does.

    Args:
        params: params.yaml, which names arms and parts.

    Returns:
        The digests.

    Raises:
        radrl.parts.find.PartError: when a part that is named cannot be found.
        SyntaxError: naming the file that is no Python.
    """
    found: Digests = {stage: digest_of(stage, params) for stage in (*ONCE, LAST)}
    for stage, keys in _keys(params).items():
        found[stage] = {key: digest_of(stage, params, key) for key in keys}
    return found


def written(found: Digests) -> str:
    """Digests as `CODE_FILE` says them."""
    return _HEADER + yaml.safe_dump(found, sort_keys=False)


def write_digests(root: Path, found: Digests) -> None:
    """Write `CODE_FILE`; where it says this already, it is left alone."""
    file, text = root / CODE_FILE, written(found)
    if file.is_file() and file.read_text(encoding="utf-8") == text:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(file) as stream:
        stream.write(text.encode())


def recorded_digests(root: Path) -> Digests:
    """What `CODE_FILE` says; nothing where there is none."""
    file = root / CODE_FILE
    return yaml_files.read(file) if file.is_file() else {}


def stages(params: Mapping[str, Any]) -> list[str]:
    """All stages as DVC names them, such as ``label`` or ``train@grpo``.

    Args:
        params: params.yaml.
    """
    return [*ONCE, LAST, *(f"{stage}@{key}" for stage, keys in _keys(params).items() for key in keys)]


def split(stage: str) -> tuple[str, str | None]:
    """A stage's own name and its key from the name that DVC has for it.

    Example:
        >>> split("train@grpo"), split("label")
        (('train', 'grpo'), ('label', None))
    """
    name, _, key = stage.partition("@")
    return name, key or None


def _keys(params: Mapping[str, Any]) -> dict[str, Iterable[str]]:
    """By stage that runs for each of several, their names."""
    own = params["selection"].get("own") or {}
    return {PER_SELECTION: own, **dict.fromkeys(PER_ARM, params["arms"])}


def digest_of(stage: str, params: Mapping[str, Any], key: str | None = None) -> str:
    """Digest what one stage does; see `stage_code` for the arguments and `digests` for the errors."""
    whole = hashlib.sha256()
    parts = named_parts(stage, params, key)
    for part in parts:
        whole.update(f"{part.kind.name} {part.path} {part.kind.arguments} {part.kind.method}\n".encode())
    for name, file in sorted(_files(stage, parts).items()):
        digest = _EMPTY if name in FACES else _file_digest(file, file.stat().st_mtime_ns)
        whole.update(f"{name} {digest}\n".encode())
    return whole.hexdigest()[:16]


def stage_code(stage: str, params: Mapping[str, Any], key: str | None = None) -> dict[str, Path]:
    """The files that a stage's outputs are made by.

    Args:
        stage: its name.
        params: params.yaml.
        key: the arm, or the selection of one's own, of a stage that runs for each.

    Returns:
        By name of the module, or by place of a file that is none.
    """
    return _files(stage, named_parts(stage, params, key))


def _files(stage: str, parts: Iterable[Part]) -> dict[str, Path]:
    named = [part.module for part in parts]
    packages = {"radrl", *(module.partition(".")[0] for module in named)}
    modules = closure([*_own_modules(f"radrl.pipelines.{stage}"), *named], packages)
    for module, run in BY_PATH.items():
        if module in modules:
            modules |= closure(_own_modules(run), {"radrl"})
    if handed_on := _handed_on(modules):
        modules |= closure([*handed_on, *_any_part()], {"radrl"})
    modules = {name: file for name, file in modules.items() if name not in TABLES}
    return modules | {f"{name} / {file.name}": file for name, file in _beside(modules)}


def _handed_on(modules: Mapping[str, Path]) -> set[str]:
    """What modules of others are handed by the packages of `FACES`, which they name in an import."""
    others = {name: file for name, file in modules.items() if name.partition(".")[0] != "radrl"}
    named = {
        asked
        for name, file in others.items()
        for asked in imported(parse(file), name, is_package=file.name == "__init__.py")
    }
    return {FACES[name] for name in named & FACES.keys()} | ({*FACES.values()} if "radrl" in named else set())


def _any_part() -> list[str]:
    """The modules of all built-in parts: which of them somebody asks for by name no import shows either."""
    return [path.partition(":")[0] for own in BUILTIN.values() for path in own.values()]


def _own_modules(package: str) -> list[str]:
    folder = Path(radrl.pipelines.__file__).parents[1].joinpath(*package.split(".")[1:])
    return [package, *(f"{package}.{module.name}" for module in iter_modules([str(folder)]))]


def _beside(modules: Mapping[str, Path]) -> Iterable[tuple[str, Path]]:
    """What a module may open without importing it: the files of its folder that are no Python."""
    for package, folder in sorted({(name.rpartition(".")[0], file.parent) for name, file in modules.items()}):
        for file in sorted(folder.iterdir()):
            if file.is_file() and file.suffix not in (".py", ".pyc", ".pyi", ".typed"):
                yield package, file


@cache
def _file_digest(file: Path, changed: int) -> str:
    if file.suffix == ".py":
        return meaning(parse(file))
    return hashlib.sha256(file.read_bytes()).hexdigest()
