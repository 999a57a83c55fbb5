"""The lateral chest, patient facing the film's left. Sides cannot be told; zones and severity can."""

from __future__ import annotations

from typing import Final

import numpy as np

from radrl.data.phantom.canvas import Frame, Plane, Point, blob, bump, cloud, disc, edge, stroke
from radrl.data.phantom.findings import Case, Finding

# Centre of each zone: the lower lobes lie behind, the middle lobe in front.
_PLACES: Final[dict[str, Point]] = {
    "apex": (0.06, -0.58),
    "upper": (0.02, -0.40),
    "mid": (-0.16, -0.02),
    "lower": (0.28, 0.20),
    "base": (0.30, 0.36),
    "hilum": (0.05, 0.0),
}


def draw_lateral(case: Case, frame: Frame) -> Plane:
    """Density of a lateral film of a case.

    Args:
        case: the build and the findings.
        frame: the film's chest coordinates.

    Returns:
        Relative attenuation, shape (H, W).
    """
    rng = np.random.default_rng(case.anatomy.seed)
    level = 0.42 + case.anatomy.dome - (0.10 if case.shallow else 0.0)
    level -= 0.08 * max((f.severity for f in case.labelled("Atelectasis") if f.zone == "base"), default=0.0)
    lung = _lung(frame, level)
    heart = case.anatomy.heart
    heart *= 1 + max((0.10 + 0.4 * f.severity for f in case.labelled("Cardiomegaly")), default=0.0)
    lung = lung * (1 - 0.72 * _heart(frame, heart))
    density = _body(frame) - 0.36 * lung
    density += _bones(frame, lung, case.labelled("Fracture")) + _hilum(frame, lung, rng)
    density += 0.14 * edge(frame.v - _domes(frame, level), 0.02) * edge(frame.u + 0.66, 0.04)
    for finding in case.findings:
        density = density + _finding(frame, lung, finding)
    return density


def _front(v: Plane) -> Plane:
    """Inner front wall."""
    front: Plane = -0.40 - 0.22 * edge(v + 0.35, 0.16)
    return front


def _back(v: Plane) -> Plane:
    """Inner back wall."""
    back: Plane = 0.40 + 0.22 * np.sqrt(np.clip(1 - np.square((v - 0.1) * np.float32(1 / 1.0)), 0, 1))
    return back


def _domes(frame: Frame, level: float) -> Plane:
    """The higher of the two domes at each depth; both fall away into the back angle."""
    behind = np.clip(frame.u + 0.1, 0, 2)
    domes: Plane = level + 0.62 * behind**1.9 + 0.20 * np.square(np.clip(-0.1 - frame.u, 0, 1))
    return domes


def _lung(frame: Frame, level: float) -> Plane:
    v = frame.v
    inside = np.minimum(frame.u - _front(v), _back(v) - frame.u)
    apex = edge(v + 0.74 - 0.7 * np.square(frame.u - 0.05), 0.05)
    return edge(inside, 0.012) * apex * edge(_domes(frame, level) - v, 0.012)


def _body(frame: Frame) -> Plane:
    """Soft tissue from breastbone to back, the shoulders above."""
    front = -0.30 - 0.46 * edge(frame.v + 0.55, 0.16)
    back = 0.60 + 0.28 * edge(frame.v + 0.6, 0.15) - 0.08 * edge(frame.v - 0.5, 0.2)
    inside = edge(frame.u - front, 0.012) * edge(back - frame.u, 0.012)
    shoulders = 0.22 * blob(frame, (0.12, -0.86), (0.36, 0.26))
    body: Plane = 0.02 + inside * (0.60 + shoulders)
    return body


def _heart(frame: Frame, size: float) -> Plane:
    """The heart, between breastbone and dome."""
    return disc(frame, (-0.32, 0.25), (0.37 * size, 0.27 * size), degrees=-42, softness=0.09)


def _bones(frame: Frame, lung: Plane, broken: tuple[Finding, ...]) -> Plane:
    """Spine, ribs and breastbone."""
    axis = frame.u - 0.46 - 0.10 * np.cos((frame.v - 0.1) * np.float32(1.6))
    discs = edge(np.cos(frame.v * np.float32(2 * np.pi / 0.15)) + 0.7, 0.1)
    spine = edge(0.095 - np.abs(axis), 0.012) * (0.12 + 0.05 * discs) * (1.1 - 0.35 * frame.v)
    phase: Plane = (frame.v + 0.42 * frame.u) * np.float32(2 * np.pi / 0.17)
    for finding in broken:
        height = {"upper": -0.35, "mid": 0.0, "lower": 0.3}[finding.zone]
        here = edge(frame.u - 0.25, 0.01) * bump(frame.v - np.float32(height), 0.10)
        phase = phase + (0.8 + 1.6 * finding.severity) * here
    ribs = 0.06 * edge(np.cos(phase) - 0.45, 0.08) * edge(lung - 0.3, 0.1)
    sternum = bump(frame.u - _front(frame.v) + 0.025, 0.022) * bump(frame.v + 0.25, 0.36)
    bones: Plane = spine + ribs + 0.14 * sternum
    return bones


def _hilum(frame: Frame, lung: Plane, rng: np.random.Generator) -> Plane:
    """Vessels around the hilum, the aortic arch and the windpipe."""
    angle, radius = np.arctan2(frame.v + 0.05, frame.u - 0.02), np.hypot(frame.u - 0.02, frame.v + 0.05)
    wander = np.sin(radius * np.float32(9)) + np.float32(rng.uniform(0, 6))
    branches = bump(np.sin(4.5 * angle + wander), 0.3)
    vessels = lung * (0.12 * branches * np.exp(radius * np.float32(-3.2)) + 0.12 * bump(radius, 0.13))
    arch = (
        0.07
        * lung
        * bump(np.hypot(frame.u - 0.10, frame.v + 0.22) - 0.19, 0.06)
        * edge(-0.15 - frame.v, 0.06)
    )
    pipe = -0.12 * stroke(frame, [(-0.10, -1.0), (-0.02, -0.5), (0.04, -0.15)], 0.07)
    grain = 0.05 * lung * (cloud(frame.size, 24, rng) - 0.5)
    hilum: Plane = vessels + arch + pipe + grain
    return hilum


def _finding(frame: Frame, lung: Plane, finding: Finding) -> Plane:
    """Added density of one finding."""
    gain, rng = finding.severity, np.random.default_rng(finding.seed)
    centre = _PLACES.get(finding.zone, (0.0, 0.0))
    texture = 0.5 + 0.8 * cloud(frame.size, 11, rng)
    if finding.label in ("Lung Opacity", "Pneumonia", "Consolidation"):
        radius = (0.18 + 0.08 * gain, 0.16 + 0.08 * gain)
        return (0.12 + 0.2 * gain) * lung * texture * blob(frame, centre, radius)
    if finding.label == "Lung Lesion":
        return (0.14 + 0.14 * gain) * lung * disc(frame, centre, (0.045 + 0.085 * gain,) * 2, softness=0.1)
    if finding.label == "Edema":
        return (0.05 + 0.17 * gain) * lung * texture * blob(frame, centre, (0.36, 0.42))
    if finding.label == "Enlarged Cardiomediastinum":
        return (0.06 + 0.16 * gain) * lung * blob(frame, (-0.20, -0.38), (0.22, 0.24))
    if finding.label == "Support Devices":
        return _device(frame, finding)
    return _at_the_rim(frame, lung, finding, centre)


def _at_the_rim(frame: Frame, lung: Plane, finding: Finding, centre: Point) -> Plane:
    """Findings of the pleura and plates at the base; heart and ribs are drawn with the anatomy."""
    gain = finding.severity
    if finding.label == "Pleural Effusion":
        level = 0.66 - 0.55 * gain - 0.35 * np.clip(frame.u, 0, 1) ** 2
        return 0.34 * lung * edge(frame.v - level, 0.02)
    if finding.label == "Atelectasis":
        tilted = frame.v - np.float32(centre[1]) - 0.3 * (frame.u - np.float32(centre[0]))
        plate = bump(tilted, 0.02 + 0.015 * gain)
        return (0.13 + 0.14 * gain) * lung * plate * bump(frame.u - np.float32(centre[0]), 0.24)
    if finding.label == "Pneumothorax":
        rim = frame.v + 0.62 - 0.5 * np.square(frame.u) - 0.30 * gain
        return lung * (0.10 * bump(rim, 0.012) - 0.10 * edge(-rim, 0.01))
    if finding.label == "Pleural Other":
        band = edge(frame.u - _back(frame.v) + 0.05 + 0.05 * gain, 0.01)
        return (0.14 + 0.16 * gain) * lung * band * bump(frame.v - np.float32(centre[1]), 0.24)
    return np.zeros_like(lung)


_DEVICE_PATHS: Final[dict[str, tuple[Point, ...]]] = {
    "endotracheal tube": ((-0.11, -1.0), (-0.04, -0.6), (0.0, -0.38)),
    "enteric tube": ((-0.06, -1.0), (0.12, -0.4), (0.14, 0.3), (-0.05, 0.72)),
    "central line": ((-0.10, -1.0), (-0.14, -0.5), (-0.14, -0.05)),
    "picc": ((-0.3, -0.62), (-0.15, -0.5), (-0.14, -0.05)),
    "pacemaker": ((-0.52, -0.42), (-0.3, -0.6), (-0.14, -0.3), (-0.2, 0.2), (-0.40, 0.34)),
    "chest tube": ((-0.5, 0.45), (0.1, 0.25), (0.3, -0.3)),
    "valve": ((-0.25, 0.06), (-0.18, 0.16), (-0.12, 0.22)),
}


def _device(frame: Frame, finding: Finding) -> Plane:
    """A device seen from the side."""
    metal = 0.26 * stroke(frame, _DEVICE_PATHS[finding.kind], 0.022)
    if finding.kind == "pacemaker":
        metal = np.maximum(metal, 0.4 * disc(frame, (-0.56, -0.40), (0.035, 0.10)))
    if finding.kind == "valve":
        for height in np.arange(-0.5, 0.2, 0.14):
            metal = np.maximum(
                metal, 0.3 * blob(frame, (-0.50 - 0.12 * (height + 0.5), height), (0.02, 0.03))
            )
    return metal
