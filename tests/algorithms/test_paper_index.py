"""docs/paper_index.md names what is there."""

import ast
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
REQUIRED = {
    *(f"DEER {n}" for n in range(1, 13)),
    *(f"OraPO {n}" for n in range(8, 16)),
    *(f"MRG-R1 {n}" for n in range(2, 7)),
}


def table(first):
    """Rows of the table whose first column has this name, header left out."""
    lines = (ROOT / "docs/paper_index.md").read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {first} |"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


EQUATIONS, CHOICES = table("equation"), table("choice")
PLACES = sorted({cell for row in EQUATIONS for cell in re.findall(r"`([\w.]+:[\w.]+)`", row[2])})
TESTS = sorted({cell for row in EQUATIONS for cell in re.findall(r"`([\w/.]+::\w+)`", row[3])})


def functions(path):
    return named(ast.parse(path.read_text(encoding="utf-8")))


def named(inside):
    return {node.name: node for node in inside.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def function(place):
    module, name = place.split(":")
    holder, _, method = name.partition(".")
    found = functions(ROOT / "src/radrl" / f"{module.replace('.', '/')}.py")[holder]
    return named(found)[method] if method else found


def default(place, argument):
    """The default of a function's argument as text, or nothing where it must be given."""
    arguments = function(place).args
    stated = [*arguments.posonlyargs, *arguments.args]
    given = dict(zip([a.arg for a in stated][::-1], arguments.defaults[::-1], strict=False))
    given |= dict(zip([a.arg for a in arguments.kwonlyargs], arguments.kw_defaults, strict=True))
    assert argument in {a.arg for a in [*stated, *arguments.kwonlyargs]}
    value = given.get(argument)
    if value is None:
        return None
    return str(value.value) if isinstance(value, ast.Constant) else ast.unparse(value)


def shipped(key):
    """What params.yaml has under a key with dots."""
    value = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    for part in key.split("."):
        value = value[part]
    return value


def test_every_equation_has_a_row():
    stand = set()
    for row in EQUATIONS:
        paper, _, numbers = row[0].partition(" ")
        if span := re.fullmatch(r"(\d+) to (\d+)", numbers):
            stand |= {f"{paper} {n}" for n in range(int(span[1]), int(span[2]) + 1)}
        elif re.fullmatch(r"[\d, ]+", numbers):
            stand |= {f"{paper} {n}" for n in numbers.split(", ")}
    assert stand >= REQUIRED


def test_every_row_names_a_function_and_a_test():
    for row in EQUATIONS:
        assert row[2].startswith("`"), row
        assert row[3].startswith("`"), row


@pytest.mark.parametrize("place", PLACES)
def test_every_function_exists(place):
    assert ast.get_docstring(function(place))


@pytest.mark.parametrize("place", TESTS)
def test_every_test_exists(place):
    path, name = place.split("::")
    assert name in functions(ROOT / "tests" / path)


@pytest.mark.parametrize("row", CHOICES, ids=lambda row: " ".join(row[1::2]).replace("`", ""))
def test_defaults_are_the_functions_and_wired_keys_hold_them(row):
    _, place, stated, key = row
    if "(" not in place:
        assert key == place
        assert stated == f"`{shipped(place.strip('`'))}`"
        return
    called, argument = re.fullmatch(r"`([\w.]+:\w+)\((\w+)\)`", place).groups()
    expected = default(called, argument)
    assert stated == ("must be given" if expected is None else f"`{expected}`")
    if wired := re.fullmatch(r"`([\w.]+)`(?: = `(.+)`)?", key):
        value = shipped(wired[1])
        assert expected is None or str(value) == (wired[2] or expected)
    else:
        assert re.fullmatch(r"\(`[\w.*]+`\)", key)
