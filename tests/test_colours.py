"""Colours that stay apart for who has no cones for green, one man in seventy."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgb

import radrl.pipelines.compare
from radrl.pages.colours import APART, APART_BY
from radrl.pages.figures import style

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


def themes() -> list[dict[str, str]]:
    """The comparison page's colours, on paper and on a dark screen."""
    page = (Path(radrl.pipelines.compare.__file__).parent / "page.html.j2").read_text()
    blocks = re.findall(r":root \{(.*?)\}", page, re.DOTALL)
    assert len(blocks) == 2
    return [dict(re.findall(r"--([\w-]+): (#\w+);", block)) for block in blocks]


@pytest.mark.parametrize("theme", themes(), ids=["light", "dark"])
def test_verdicts_of_the_comparison_page_stay_apart_and_can_be_read(theme: dict[str, str]) -> None:
    verdicts = ("right", "missed", "wrong", "hedged")
    for one, other in itertools.combinations(verdicts, 2):
        assert np.linalg.norm(seen(theme[one]) - seen(theme[other])) >= APART_BY, (one, other)
    for name in verdicts:
        assert contrast(theme[name], theme[f"{name}-bg"]) >= 4.5, name
        assert contrast(theme["ink"], theme[f"{name}-bg"]) >= 4.5, name


def contrast(one: str, other: str) -> float:
    """WCAG's ratio of the lightness of two colours; 4.5 for text that can be read."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(XYZ[1] @ linear)
