"""Tables on the terminal."""

import math

import pytest
from rich.console import Console

from radrl.process.terminal import new_table, number


@pytest.mark.parametrize(
    ("value", "cell"),
    [(12, "12"), (0, "0"), (0.5, "0.500"), (2 / 3, "0.667"), (3.0, "3.000"), (None, "-"), (math.nan, "-")],
)
def test_numbers_as_cells(value, cell):
    assert number(value) == cell


def printed(table, width):
    console = Console(width=width)
    with console.capture() as capture:
        console.print(table)
    return [line.rstrip() for line in capture.get().splitlines()]


@pytest.fixture
def table():
    table = new_table("name of a metric", "a long head", "n")
    table.add_row("bleu", number(0.25), number(7))
    return table


def test_numbers_stand_to_the_right_of_names(table):
    assert printed(table, 40) == ["name of a metric  a long head  n", "bleu                    0.250  7"]


def test_a_narrow_terminal_folds_heads_and_cuts_no_number(table):
    assert printed(table, 28)[-1].split() == ["bleu", "0.250", "7"]
