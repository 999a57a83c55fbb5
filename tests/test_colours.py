"""Colours that stay apart for who has no cones for green, one man in seventy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from radrl.pages.colours import APART, APART_BY
from radrl.pages.pictures import style

DEUTERANOPIA = np.array(
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
)
"""Machado, Oliveira and Fernandes 2009, table of severity 1.0; of linear RGB."""

XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
"""Of linear sRGB, white D65."""


def seen(colour: str) -> np.ndarray:
    """CIELAB of a colour as a deuteranope sees it."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    x, y, z = XYZ @ np.clip(DEUTERANOPIA @ linear, 0, 1) / (XYZ @ np.ones(3))

    def f(t: float) -> float:
        return float(np.cbrt(t)) if t > (6 / 29) ** 3 else t / (3 * (6 / 29) ** 2) + 4 / 29

    return np.array([116 * f(y) - 16, 500 * (f(x) - f(y)), 200 * (f(y) - f(z))])


def test_white_is_white() -> None:
    assert seen("#ffffff") == pytest.approx([100, 0, 0], abs=0.1)


def test_any_two_colours_stay_apart() -> None:
    for one, other in itertools.combinations(APART, 2):
        assert np.linalg.norm(seen(one) - seen(other)) >= APART_BY, (one, other)


def test_lines_of_one_colour_differ_in_dash_or_marker() -> None:
    looks = [style(number) for number in range(40)]
    assert len({(look.colour, str(look.dash), look.marker) for look in looks}) == 40
