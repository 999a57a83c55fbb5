"""The digest of what a file does: layout and documentation have no part in it, everything else has."""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path

import kedro
import pytest

from kedro_repro.syntax_digest import syntax_digest

SOURCE = Path(kedro.__file__).parent
PLAIN = """\
def share(rows, *, eps=1e-8):
    return sum(rows) / (len(rows) + eps)


class Reader:
    size = 4

    def read(self):
        return "text"
"""


def of(source: str) -> str:
    return syntax_digest(ast.parse(source))


@pytest.mark.parametrize(
    "same",
    [
        "# why\n" + PLAIN,
        '"""What it is."""\n' + PLAIN,
        PLAIN.replace("    return sum", '    """A share.\n\n    Args: rows."""\n    return sum'),
        PLAIN.replace("    size = 4\n", '    """Reads."""\n\n    size = 4\n    """Letters."""\n'),
        PLAIN.replace(
            "sum(rows) / (len(rows) + eps)", "sum(\n        rows\n    ) / (len(rows) + eps)  # > 0"
        ),
        PLAIN.replace('"text"', "'text'").replace("rows, *, eps=1e-8", "rows, *, eps=0.00000001,"),
    ],
    ids=["comment", "docstring", "function", "class", "line breaks", "quotes"],
)
def test_writing_it_down_otherwise_changes_nothing(same: str) -> None:
    assert same != PLAIN
    assert of(same) == of(PLAIN)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1e-8", "1e-6"),
        ("/", "*"),
        ("size = 4", "size = 4.0"),
        ("size = 4", "size = True"),
        ('"text"', '"texts"'),
        ("len(rows)", "len(list(rows))"),
        ("def read(self)", "@property\n    def read(self)"),
        ("sum(rows)", "-sum(rows)"),
    ],
)
def test_doing_otherwise_changes_it(old: str, new: str) -> None:
    assert old in PLAIN
    assert of(PLAIN.replace(old, new, 1)) != of(PLAIN)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = [a, b]", "x = (a, b)"),
        ("x = [a, b]", "x = {a, b}"),
        ("x = a and b", "x = a or b"),
        ("x = a < b", "x = a <= b"),
        ("x = [i for i in a]", "x = {i for i in a}"),
        ("def f():\n    yield x", "def f():\n    yield from x"),
        ("def f():\n    return g()", "async def f():\n    return g()"),
        ("while x:\n    break", "while x:\n    continue"),
    ],
)
def test_what_a_node_is_counts_where_its_fields_are_those_of_another(one: str, other: str) -> None:
    assert of(one) != of(other)


def test_tree_is_written_out_by_hand() -> None:
    # a node with its fields, each closed by ")"; a list closed by "]"; a text with its type
    target = ["Name", ".id", "str:'x'", ".ctx", "Store", ")", ")"]
    operand = ["Name", ".id", "str:'y'", ".ctx", "Load", ")", ")"]
    value = ["UnaryOp", ".op", "USub", ")", ".operand", *operand, ")"]
    words = ["Module", ".body", "Assign", ".targets", *target, "]", ".value", *value, ")", "]", ")"]
    assert of("x = -y") == hashlib.sha256("".join(f"{word}\0" for word in words).encode()).hexdigest()


def test_order_of_statements_counts() -> None:
    assert of("a = 1\nb = 2\n") != of("b = 2\na = 1\n")


def test_a_string_that_is_returned_is_no_docstring() -> None:
    assert of("def f():\n    return 'a'\n") != of("def f():\n    return 'b'\n")


def test_every_module_means_the_same_when_it_is_written_anew() -> None:
    files = [file for file in SOURCE.rglob("*.py") if "templates" not in file.parts]
    trees = {file: ast.parse(file.read_bytes()) for file in files}
    assert len(files) > 60
    assert [file for file, tree in trees.items() if of(ast.unparse(tree)) != syntax_digest(tree)] == []
