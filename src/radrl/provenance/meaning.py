"""What a Python file does, apart from how it is written down: the digest of its syntax tree.

Comments, docstrings, blank lines, quotes and the breaking of lines have no part in it. The tree is written
out here and not by `ast.dump`, whose output differs between versions of Python for the same program.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from typing import Any

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def meaning(tree: ast.Module) -> str:
    """Digest what a module does.

    Args:
        tree: its syntax tree.

    Returns:
        A hexadecimal digest; equal for sources that differ in comments, docstrings and layout alone.

    Example:
        >>> one, two = ast.parse("x = 1  # one"), ast.parse('"About x."' + chr(10) + "x = (1)")
        >>> meaning(one) == meaning(two)
        True
    """
    digest = hashlib.sha256()
    for word in _words(tree):
        digest.update(word.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


def _words(node: Any) -> Iterator[str]:
    """The tree from its root: what the nodes are, their fields that hold something, constants with types."""
    if isinstance(node, ast.AST):
        yield type(node).__name__
        for field, value in ast.iter_fields(node):
            told = _spoken(node) if field == "body" and isinstance(node, Documented) else value
            if told is not None and told != []:
                yield f".{field}"
                yield from _words(told)
        yield ")"
    elif isinstance(node, list):
        for item in node:
            yield from _words(item)
        yield "]"
    else:
        yield f"{type(node).__name__}:{node!r}"


def _spoken(node: Documented) -> list[ast.stmt]:
    """A body without what only documents: its docstring, and strings that stand after a constant."""
    return [statement for statement in node.body if not _is_text(statement)]


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
