"""What a Python file does, apart from how it is written down: the digest of its syntax tree.

Comments, docstrings, blank lines, quotes and the breaking of lines have no part in it. The tree is written
out here and not by `ast.dump`, whose output differs between versions of Python for the same program.
"""

from __future__ import annotations

import ast
import hashlib
from typing import Any

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def syntax_digest(tree: ast.Module) -> str:
    """Digest what a module does.

    Args:
        tree: its syntax tree.

    Returns:
        A hexadecimal digest; equal for sources that differ in comments, docstrings and layout alone.

    Example:
        >>> one, two = ast.parse("x = 1  # one"), ast.parse('"About x."' + chr(10) + "x = (1)")
        >>> syntax_digest(one) == syntax_digest(two)
        True
    """
    words: list[str] = []
    _write(tree, words)
    return hashlib.sha256("".join(f"{word}\0" for word in words).encode("utf-8", "surrogatepass")).hexdigest()


def _write(node: Any, words: list[str]) -> None:
    """The tree from its root: what the nodes are, their fields that hold something, constants with types."""
    if isinstance(node, ast.AST):
        words.append(type(node).__name__)
        for field in node._fields:
            value = getattr(node, field, None)
            if field == "body" and isinstance(node, Documented):
                value = _spoken(node)
            if value is not None and value != []:
                words.append(f".{field}")
                _write(value, words)
        words.append(")")
    elif isinstance(node, list):
        for item in node:
            _write(item, words)
        words.append("]")
    else:
        words.append(f"{type(node).__name__}:{node!r}")


def _spoken(node: Documented) -> list[ast.stmt]:
    """A body without what only documents: its docstring, and strings that stand after a constant."""
    return [statement for statement in node.body if not _is_text(statement)]


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
