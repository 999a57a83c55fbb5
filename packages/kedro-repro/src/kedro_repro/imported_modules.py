"""Which files a module's code lies in: its own, and those of all that it imports from the same packages.

Nothing is imported to find out; an import within a function counts as one at the top, and one for type
checkers alone does not.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path


def parse(file: Path) -> ast.Module:
    """Read a file's syntax tree, each file once.

    Raises:
        SyntaxError: naming file and line.
    """
    return _parse(file, file.stat().st_mtime_ns)


@cache
def _parse(file: Path, changed: int) -> ast.Module:
    return ast.parse(file.read_bytes(), filename=str(file))


def closure(modules: Iterable[str], packages: Collection[str]) -> dict[str, Path]:
    """Modules and all that they import, directly or through others.

    Args:
        modules: their full names.
        packages: the names at the top whose modules are followed; any other import is somebody else's code.

    Returns:
        The file of each module by name; packages on the way to a module are among them, since they run first.

    Raises:
        ModuleNotFoundError: when one of `modules` is not there.
    """
    found: dict[str, Path] = {}
    waiting = list(modules)
    for name in waiting:
        if _file(name) is None:
            raise ModuleNotFoundError(f"there is no module {name}", name=name)
    while waiting:
        name = waiting.pop()
        file = None if name in found or name.partition(".")[0] not in packages else _file(name)
        if file is not None:
            found[name] = file
            waiting += [name.rpartition(".")[0]] if "." in name else []
            waiting += _imported(file, file.stat().st_mtime_ns, name)
    return found


@cache
def _imported(file: Path, changed: int, name: str) -> list[str]:
    return imported(parse(file), name, is_package=file.name == "__init__.py")


def imported(tree: ast.Module, name: str, *, is_package: bool) -> list[str]:
    """What a module names in its import statements; of `from a import b` both a and a.b.

    Args:
        tree: its syntax tree.
        name: its full name, which relative imports start from.
        is_package: whether it is a package's own module.
    """
    names: list[str] = []
    for node in _executed(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = _absolute(node, name, is_package=is_package)
            names += [start, *(f"{start}.{alias.name}" for alias in node.names)]
    return names


def _executed(tree: ast.Module) -> Iterator[ast.AST]:
    """All statements but those that only a type checker reads."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            waiting += node.orelse
            continue
        yield node
        # statements hold statements in lists; what hangs on them otherwise are expressions
        waiting += [
            child
            for _, field in ast.iter_fields(node)
            if isinstance(field, list)
            for child in field
            if isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case))
        ]


def _absolute(node: ast.ImportFrom, name: str, *, is_package: bool) -> str:
    if not node.level:
        return node.module or ""
    parts = name.split(".")
    base = parts[: len(parts) - node.level + is_package]
    return ".".join([*base, *([node.module] if node.module else [])])


def folders(package: str) -> list[str]:
    """Where a package's modules lie, without running it; nothing where there is none."""
    spec = _spec(package)
    return list(spec.submodule_search_locations or ()) if spec else []


def _file(name: str) -> Path | None:
    """A module's source; nothing where it is none, or not in Python."""
    spec = _spec(name)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    return Path(spec.origin)


@cache
def _spec(name: str) -> ModuleSpec | None:
    """Where a module lies, without running its packages, as `importlib.util.find_spec` would."""
    above, _, _ = name.rpartition(".")
    if not above:
        try:
            return find_spec(name)
        except ValueError:  # a module that was made by hand, such as __main__
            return None
    package = _spec(above)
    if package is None or package.submodule_search_locations is None:
        return None
    return PathFinder.find_spec(name, list(package.submodule_search_locations))
