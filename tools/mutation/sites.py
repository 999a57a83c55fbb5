"""The mutants of a module, and the draw of some of them."""

from __future__ import annotations

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from mutation.operators import LEFT_KEYWORDS, changes

SKIPPED_FIELDS = {"annotation", "returns", "decorator_list", "type_params"}
LOGGERS = re.compile(r"(log|logger|logging|LOG|LOGGER|warnings)\.\w+$")
ERRORS = re.compile(r"\w*(Error|Exception|Warning)$")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
Step = tuple[str, int | None]


@dataclass(frozen=True)
class Mutant:
    """One change of one place.

    Args:
        file: the module's, from the root.
        scope: function or class it is in, with dots; empty at the top of the module.
        change: operator, what stood there and what stands there now; numbered where a scope has it twice.
        lines: first and last of the node.
        statement: first and last line of the statement.
        inside: whether it is in a function, and not run as the module is imported.
        steps: the way from the module's tree to the node.
        number: which of the node's changes.
    """

    file: str
    scope: str
    change: str
    lines: tuple[int, int]
    statement: tuple[int, int]
    inside: bool
    steps: tuple[Step, ...]
    number: int

    @property
    def name(self) -> str:
        """What it is called in the ledger; without line numbers, so that it stays when lines move."""
        return f"{self.file}::{self.scope}::{self.change}"


@dataclass(frozen=True)
class _Place:
    scope: str
    bound: Counter[str] | None  # stores of each name in the function; none outside
    statement: tuple[int, int]


def mutants(file: str, source: str) -> list[Mutant]:
    """All mutants of a module.

    Args:
        file: its path from the root, as it will be named.
        source: its text.
    """
    found: list[Mutant] = []
    seen: Counter[tuple[str, str]] = Counter()
    for node, field, steps, place in _nodes(ast.parse(source), (), _Place("", None, (0, 0))):
        rebound = place.bound is not None and _rebound(node, place.bound)
        for number, (operator, other) in enumerate(changes(node, field, rebound=rebound)):
            if place.bound is None and operator == "arithmetic" and "|" in ast.unparse(node):
                continue  # a union of types
            change = f"{operator}: {_short(node)}" + (
                "" if isinstance(other, ast.Pass) else f" → {_short(other)}"
            )
            seen[place.scope, change] += 1
            if (nth := seen[place.scope, change]) > 1:
                change += f" ({nth})"
            lines = (node.lineno, node.end_lineno)  # type: ignore[attr-defined]
            inside = place.bound is not None
            found.append(Mutant(file, place.scope, change, lines, place.statement, inside, steps, number))
    return found


def mutated(source: str, mutant: Mutant) -> ast.Module:
    """The tree of a module with one change in it; lines are where they were."""
    tree = ast.parse(source)
    *way, (field, index) = mutant.steps
    parent: ast.AST = tree
    for name, place in way:
        value = getattr(parent, name)
        parent = value if place is None else value[place]
    value = getattr(parent, field)
    node = value if index is None else value[index]
    # which of the changes there are does not depend on `rebound`, which only leaves out or not
    _, other = list(changes(node, field, rebound=True))[mutant.number]
    ast.copy_location(other, node)
    if index is None:
        setattr(parent, field, other)
    else:
        value[index] = other
    return ast.fix_missing_locations(tree)


def drawn(found: Iterable[Mutant], wanted: int, seed: int) -> list[Mutant]:
    """Some of a room's mutants: of each module its share, rounded up.

    A mutant's place in the draw hangs on its name and the seed alone, so a change of one module draws no
    other mutants of the rest.

    Args:
        found: all of the room.
        wanted: about how many; 0 for all.
        seed: of the draw.
    """
    everything = list(found)
    modules: dict[str, list[Mutant]] = {}
    for mutant in everything:
        modules.setdefault(mutant.file, []).append(mutant)
    chosen: list[Mutant] = []
    for own in modules.values():
        count = ceil(wanted * len(own) / len(everything)) if wanted else len(own)
        own.sort(key=lambda mutant: hashlib.sha256(f"{seed}:{mutant.name}".encode()).digest())
        chosen += sorted(own[:count], key=lambda mutant: (mutant.lines, mutant.change))
    return chosen


def modules_of(folder: Path) -> list[Path]:
    """The modules of a room that may hold mutants; `__init__.py` holds a docstring."""
    return sorted(file for file in folder.rglob("*.py") if file.name != "__init__.py")


def _nodes(
    node: ast.AST, steps: tuple[Step, ...], place: _Place
) -> Iterator[tuple[ast.AST, str, tuple[Step, ...], _Place]]:
    """Every node that may change, with its field, the way to it and where it is."""
    for field, value in ast.iter_fields(node):
        if field in SKIPPED_FIELDS:
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or _left_alone(child):
                continue
            way = (*steps, (field, index))
            inside = _inside(child, place)
            yield child, field, way, inside
            if not isinstance(child, ast.Raise):  # an error's words
                yield from _nodes(child, way, inside)


def _left_alone(node: ast.AST) -> bool:
    """Texts, messages, what is only for type checkers."""
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.keyword) and node.arg in LEFT_KEYWORDS):
        return True
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return True
    if isinstance(node, ast.Call):
        name = ast.unparse(node.func)
        return bool(LOGGERS.search(name) or ERRORS.fullmatch(name.rpartition(".")[2]))
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return _left_alone(node.value)
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _inside(child: ast.AST, place: _Place) -> _Place:
    scope, bound, statement = place.scope, place.bound, place.statement
    if isinstance(child, ast.stmt):
        statement = (child.lineno, child.end_lineno or child.lineno)
    if isinstance(child, FUNCTIONS):
        bound = Counter(inner.arg for inner in ast.walk(child.args) if isinstance(inner, ast.arg))
        bound.update(
            inner.id
            for inner in ast.walk(child)
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
        )
    if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        scope = f"{scope}.{child.name}".lstrip(".")
    return _Place(scope, bound, statement)


def _rebound(node: ast.AST, bound: Counter[str]) -> bool:
    if isinstance(node, ast.Assign):
        targets: list[ast.expr] = node.targets
    elif isinstance(node, ast.AnnAssign):
        targets = [node.target]
    else:
        return False
    flat = [
        inner for target in targets for inner in (target.elts if isinstance(target, ast.Tuple) else [target])
    ]
    return all(not isinstance(inner, ast.Name) or bound[inner.id] > 1 for inner in flat)


def _short(node: ast.AST, width: int = 110) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= width else text[: width - 1] + "…"
