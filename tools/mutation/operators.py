"""What a part of a line may become."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import deepcopy
from typing import NamedTuple, TypeVar

Node = TypeVar("Node", bound=ast.AST)

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),  # the boundary, and the opposite
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
PAIRS = (
    ("any", "all"),
    ("min", "max"),
    ("minimum", "maximum"),
    ("argmin", "argmax"),
    ("nanmin", "nanmax"),
    ("floor", "ceil"),
    ("sum", "mean"),
)
CALLS = dict(PAIRS) | {other: one for one, other in PAIRS} | {"round": "int"}
LEFT_KEYWORDS = ("strict", "encoding")
"""Of zip, a guard that nothing can trip from outside; of open, what every machine here does anyway."""


class Change(NamedTuple):
    """One thing that a node may become."""

    operator: str
    node: ast.AST


def changes(node: ast.AST, field: str, *, rebound: bool) -> Iterator[Change]:
    """All that a node may become.

    Args:
        node: of a module's tree.
        field: what its parent calls it.
        rebound: of an assignment to names: whether each has another value too, so that leaving it out is not
            a NameError and nothing else.
    """
    if isinstance(node, ast.stmt):
        yield from _statement(node, rebound)
    elif isinstance(node, ast.expr):
        yield from _expression(node)
        if field in ("test", "ifs") and not isinstance(
            node, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Constant
        ):
            yield Change("condition", ast.UnaryOp(ast.Not(), node))


def _statement(node: ast.stmt, rebound: bool) -> Iterator[Change]:
    if isinstance(node, ast.Return) and not _is_nothing(node.value):
        yield Change("return", ast.Return(ast.Constant(None)))
    elif isinstance(node, ast.Raise):
        yield Change("raise", ast.Pass())
    elif isinstance(node, ast.Continue):
        yield Change("loop", ast.Break())
    elif isinstance(node, ast.Break):
        yield Change("loop", ast.Continue())
    elif isinstance(node, ast.AugAssign):
        yield Change("leave out", ast.Pass())
        if (other := ARITHMETIC.get(type(node.op))) is not None:
            yield Change("arithmetic", _with(node, op=other()))
    elif (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)) or (
        isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and rebound
    ):
        yield Change("leave out", ast.Pass())


def _expression(node: ast.expr) -> Iterator[Change]:
    if isinstance(node, ast.Compare):
        for place, op in enumerate(node.ops):
            for other in COMPARISONS[type(op)]:
                yield Change(
                    "comparison", _with(node, ops=[*node.ops[:place], other(), *node.ops[place + 1 :]])
                )
    elif isinstance(node, ast.BinOp):
        if (swapped := ARITHMETIC.get(type(node.op))) and not (_is_text(node.left) or _is_text(node.right)):
            yield Change("arithmetic", _with(node, op=swapped()))
    elif isinstance(node, ast.BoolOp):
        yield Change("and/or", _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And()))
    elif isinstance(node, ast.UnaryOp):
        yield Change("not" if isinstance(node.op, ast.Not) else "sign", node.operand)
    elif isinstance(node, ast.Constant):
        yield from _constant(node)
    elif isinstance(node, ast.Call):
        yield from _call(node)


def _constant(node: ast.Constant) -> Iterator[Change]:
    if isinstance(node.value, bool):
        yield Change("constant", ast.Constant(not node.value))
    elif isinstance(node.value, int | float):
        yield Change("constant", ast.Constant(node.value + 1))
        yield Change("constant", ast.Constant(node.value - 1))


def _call(node: ast.Call) -> Iterator[Change]:
    for place, keyword in enumerate(node.keywords):
        if keyword.arg is not None and keyword.arg not in LEFT_KEYWORDS:
            yield Change("keyword", _with(node, keywords=node.keywords[:place] + node.keywords[place + 1 :]))
    if isinstance(node.func, ast.Name) and node.func.id in CALLS:
        yield Change("call", _with(node, func=ast.Name(CALLS[node.func.id], ast.Load())))
    elif isinstance(node.func, ast.Attribute) and node.func.attr in CALLS:
        yield Change("call", _with(node, func=_with(node.func, attr=CALLS[node.func.attr])))


def _with(node: Node, **fields: object) -> Node:
    made = deepcopy(node)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def _is_nothing(node: ast.expr | None) -> bool:
    """None, or what stands for as much where it is asked for its truth, such as False."""
    return node is None or (isinstance(node, ast.Constant) and not node.value)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
