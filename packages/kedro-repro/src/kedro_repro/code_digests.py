"""What the code of every stage does, as digests: what DVC runs a stage again for.

A stage's code are the modules of its pipeline, all that they import, the code that params.yaml names for it,
and the files that lie beside these modules (templates, word lists). What only looks on, draws or prints is
best handed to it from outside, by hooks, and is then no part of it.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import yaml

from kedro_repro.imported_modules import closure, imported, parse
from kedro_repro.params_values import load_yaml
from kedro_repro.project import NamedCode, Params, Project
from kedro_repro.syntax_digest import syntax_digest
from kedro_repro.whole_file import whole_file

CODE_FILE: Final = Path("data/08_reporting/code.yaml")
"""Where the stage `code` writes the digests, from the project's root."""

_EMPTY: Final = syntax_digest(ast.Module([], []))

Digests = dict[str, str | dict[str, str]]
"""By stage its digest, or of a stage that runs for each arm, or own selection, one by its name."""


def digests(project: Project, params: Params) -> Digests:
    """Digest what every stage does.

    Args:
        project: whose stages they are.
        params: params.yaml, which names the code that is chosen by a parameter.

    Returns:
        The digests: first of the stages that run once, then by name of those that run for several.

    Raises:
        Exception: the project's own, when code that a parameter names cannot be found.
        SyntaxError: naming the file that is no Python.
    """
    found: Digests = {stage: digest_of(project, stage, params) for stage in project.once()}
    for stage, keys in project.keys(params).items():
        found[stage] = {key: digest_of(project, stage, params, key) for key in keys}
    return found


def written(project: Project, found: Digests) -> str:
    """Digests as `CODE_FILE` says them."""
    header = (
        f"# A digest of what each stage's code does (`{project.code_command()} STAGE` lists its files), for "
        "DVC to compare.\n"
    )
    return header + yaml.safe_dump(found, sort_keys=False)


def write_digests(project: Project, found: Digests) -> None:
    """Write `CODE_FILE`; where it says this already, it is left alone."""
    file, text = project.root / CODE_FILE, written(project, found)
    if file.is_file() and file.read_text(encoding="utf-8") == text:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(file) as stream:
        stream.write(text.encode())


def recorded_digests(root: Path) -> Digests:
    """What `CODE_FILE` says; nothing where there is none."""
    file = root / CODE_FILE
    return load_yaml(file.read_text(encoding="utf-8")) if file.is_file() else {}


def stages(project: Project, params: Params) -> list[str]:
    """All stages as DVC names them, such as ``label`` or ``train@grpo``.

    Args:
        project: whose stages they are.
        params: params.yaml.
    """
    several = project.keys(params).items()
    return [*project.once(), *(f"{stage}@{key}" for stage, keys in several for key in keys)]


def split(stage: str) -> tuple[str, str | None]:
    """A stage's own name and its key from the name that DVC has for it.

    Example:
        >>> split("train@grpo"), split("label")
        (('train', 'grpo'), ('label', None))
    """
    name, _, key = stage.partition("@")
    return name, key or None


def digest_of(project: Project, stage: str, params: Params, key: str | None = None) -> str:
    """Digest what one stage does; see `stage_code` for the arguments and `digests` for the errors."""
    whole = hashlib.sha256()
    named = project.named_code(stage, params, key)
    for code in named:
        whole.update(f"{code.said}\n".encode())
    for name, file in sorted(_files(project, stage, named).items()):
        lazy = name in project.lazy_packages
        digest = _EMPTY if lazy else _file_digest(file, file.stat().st_mtime_ns)
        whole.update(f"{name} {digest}\n".encode())
    return whole.hexdigest()[:16]


def stage_code(project: Project, stage: str, params: Params, key: str | None = None) -> dict[str, Path]:
    """The files that a stage's outputs are made by.

    Args:
        project: whose stage it is.
        stage: its name.
        params: params.yaml.
        key: the one of several, such as an arm, of a stage that runs for each.

    Returns:
        By name of the module, or by place of a file that is none.
    """
    return _files(project, stage, project.named_code(stage, params, key))


def _files(project: Project, stage: str, named: Iterable[NamedCode]) -> dict[str, Path]:
    own = project.packages
    modules_named = [code.module for code in named]
    packages = {*own, *(module.partition(".")[0] for module in modules_named)}
    modules = closure([*project.code_modules(stage), *modules_named], packages)
    for module, run in project.run_by_path.items():
        if module in modules:
            modules |= closure(project.modules_of(run), own)
    if handed_on := _handed_on(project, modules):
        modules |= closure([*handed_on, *project.asked_by_name()], own)
    modules = {name: file for name, file in modules.items() if name not in project.left_out}
    return modules | {f"{name} / {file.name}": file for name, file in _beside(modules)}


def _handed_on(project: Project, modules: Mapping[str, Path]) -> set[str]:
    """What modules of others are handed by lazy packages, which they name in an import.

    No module of the project asks for them, so to its own stages such a package is empty.
    """
    lazy = project.lazy_packages
    others = {name: file for name, file in modules.items() if name.partition(".")[0] not in project.packages}
    named = {
        asked
        for name, file in others.items()
        for asked in imported(parse(file), name, is_package=file.name == "__init__.py")
    }
    return {lazy[name] for name in named & lazy.keys()} | (
        {*lazy.values()} if project.package in named else set()
    )


def _beside(modules: Mapping[str, Path]) -> Iterable[tuple[str, Path]]:
    """What a module may open without importing it: the files of its folder that are no Python."""
    for package, folder in sorted({(name.rpartition(".")[0], file.parent) for name, file in modules.items()}):
        for file in sorted(folder.iterdir()):
            if file.is_file() and file.suffix not in (".py", ".pyc", ".pyi", ".typed"):
                yield package, file


@cache
def _file_digest(file: Path, changed: int) -> str:
    if file.suffix == ".py":
        return syntax_digest(parse(file))
    return hashlib.sha256(file.read_bytes()).hexdigest()
