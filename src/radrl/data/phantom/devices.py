"""Support devices on a frontal film: tubes, lines, pacemakers and what surgery leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from radrl.data.phantom.canvas import Frame, Plane, Point, stroke
from radrl.data.phantom.findings import Finding

_THIN: Final = 0.016
_TUBE: Final = 0.030

Drawing = Callable[[Frame, float, np.random.Generator], Plane]
"""Frame, sign of u on the device's side (1 for the midline) and generator to added density."""


def _endotracheal_tube(frame: Frame, sign: float, rng: np.random.Generator) -> Plane:
    tip = -0.40 + rng.uniform(-0.05, 0.04)
    return 0.26 * stroke(frame, [(0.01, -1.1), (0.0, -0.8), (0.0, tip)], _TUBE)


def _enteric_tube(frame: Frame, sign: float, rng: np.random.Generator) -> Plane:
    tip = (0.30 + rng.uniform(0, 0.12), 0.72 + rng.uniform(-0.05, 0.1))
    return 0.24 * stroke(frame, [(0.03, -1.1), (0.03, -0.3), (0.03, 0.4), (0.10, 0.62), tip], _TUBE * 0.8)


def _central_line(frame: Frame, sign: float, rng: np.random.Generator) -> Plane:
    end = 0.02 + rng.uniform(-0.06, 0.06)
    path: list[Point] = [(sign * 0.22, -1.1), (sign * 0.17, -0.75), (-0.06 if sign > 0 else -0.12, -0.5)]
    return 0.26 * stroke(frame, [*path, (-0.10, -0.2), (-0.10, end)], _THIN)


def _picc(frame: Frame, sign: float, rng: np.random.Generator) -> Plane:
    end = -0.02 + rng.uniform(-0.05, 0.05)
    path: list[Point] = [(sign * 1.1, -0.25), (sign * 0.85, -0.5), (sign * 0.5, -0.62), (sign * 0.15, -0.55)]
    return 0.24 * stroke(frame, [*path, (-0.10, -0.35), (-0.10, end)], _THIN)


def _pacemaker(frame: Frame, sign: float, rng: np.random.Generator) -> Plane:
    u, v = sign * (0.56 + rng.uniform(-0.04, 0.04)), -0.50 + rng.uniform(-0.05, 0.05)
    corners = ((-2, -1), (-1, -2), (1, -2), (2, -1), (2, 1), (1, 2), (-1, 2), (-2, 1))
    box = [(u + 0.05 * across, v + 0.048 * down) for across, down in corners]
    lead: list[Point] = [
        (u, v - 0.08),
        (sign * 0.3, -0.66),
        (-0.08 if sign < 0 else 0.0, -0.5),
        (-0.10, -0.1),
    ]
    ventricle = stroke(frame, [*lead, (-0.06, 0.25), (0.12, 0.38), (0.24, 0.36)], _THIN)
    atrium = stroke(frame, [*lead, (-0.10, 0.14), (-0.16, 0.06)], _THIN)
    device: Plane = np.maximum(
        0.42 * stroke(frame, box, 0, closed=True), 0.28 * np.maximum(ventricle, atrium)
    )
    return device


def _chest_tube(frame: Frame, sign: float, rng: np.random.Generator) -> Plane:
    top = -0.45 + rng.uniform(-0.12, 0.12)
    path: list[Point] = [(sign * 0.98, 0.40), (sign * 0.72, 0.30), (sign * 0.60, -0.05), (sign * 0.36, top)]
    return 0.24 * stroke(frame, path, _TUBE)


def _valve(frame: Frame, sign: float, rng: np.random.Generator) -> Plane:
    """Wire loops through the breastbone and a ring in the heart."""
    turn = np.linspace(0, 2 * np.pi, 13)
    ring = [(0.06 + 0.055 * np.cos(a), 0.10 + 0.035 * np.sin(a) + 0.02 * np.cos(a)) for a in turn]
    wires = stroke(frame, ring, _THIN)
    for height in np.arange(-0.45, 0.35, 0.15) + rng.uniform(-0.02, 0.02):
        loop = [(0.035 * np.cos(a) - 0.01, height + 0.028 * np.sin(a)) for a in turn]
        wires = np.maximum(wires, stroke(frame, loop, _THIN * 0.8))
    return 0.30 * wires


_DRAWINGS: Final[dict[str, Drawing]] = {
    "endotracheal tube": _endotracheal_tube,
    "enteric tube": _enteric_tube,
    "central line": _central_line,
    "picc": _picc,
    "pacemaker": _pacemaker,
    "chest tube": _chest_tube,
    "valve": _valve,
}


def draw_device(frame: Frame, finding: Finding) -> Plane:
    """Added density of one device, shape (H, W)."""
    sign = -1.0 if finding.side == "right" else 1.0
    return _DRAWINGS[finding.kind](frame, sign, np.random.default_rng(finding.seed))
