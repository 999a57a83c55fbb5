"""How each finding looks on a frontal film; heart, mediastinum, domes and ribs are changed in `frontal`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from radrl.data.phantom.canvas import Plane, Point, blob, bump, cloud, disc, edge
from radrl.data.phantom.findings import Finding
from radrl.data.phantom.frontal import HILUM, SIDES, Chest, sides

Painter = Callable[[Chest, Finding, np.random.Generator], None]

_HEIGHT: Final[dict[str, float]] = {"apex": -0.62, "upper": -0.42, "mid": -0.06, "lower": 0.22, "base": 0.33}
_DEPTH: Final[dict[str, float]] = {"apex": 0.34, "upper": 0.42, "mid": 0.50, "lower": 0.46, "base": 0.42}


def _place(finding: Finding, side: str, rng: np.random.Generator) -> Point:
    """Centre of a finding in the middle of its zone, give or take."""
    u = _DEPTH[finding.zone] + rng.uniform(-0.06, 0.06)
    return SIDES[side] * u, _HEIGHT[finding.zone] + rng.uniform(-0.05, 0.05)


def _opacity(chest: Chest, finding: Finding, rng: np.random.Generator) -> None:
    """An ill-defined haze."""
    for side in sides(finding):
        radius = (0.17 + 0.08 * finding.severity, 0.15 + 0.08 * finding.severity)
        haze = blob(chest.frame, _place(finding, side, rng), radius)
        texture = 0.5 + 0.8 * cloud(chest.frame.size, 9, rng)
        chest.add((0.10 + 0.20 * finding.severity) * haze * texture * chest.lungs[side])


def _lesion(chest: Chest, finding: Finding, rng: np.random.Generator) -> None:
    """A round, sharp spot: a nodule, when larger a mass."""
    for side in sides(finding):
        width = 0.055 + 0.085 * finding.severity
        radius = (width, width * rng.uniform(0.85, 1.1))
        spot = disc(chest.frame, _place(finding, side, rng), radius, softness=0.10)
        chest.add((0.24 + 0.14 * finding.severity) * spot * chest.fields[side])


def _edema(chest: Chest, finding: Finding, rng: np.random.Generator) -> None:
    """Haze around both hila and short septal lines at the bases."""
    frame = chest.frame
    for side in sides(finding):
        sign = SIDES[side]
        haze = blob(frame, (sign * (HILUM[0] + 0.10), 0.06), (0.30, 0.42))
        haze = haze * (0.7 + 0.6 * cloud(frame.size, 12, rng))
        rim = np.abs(frame.u) - chest.wall
        septa = edge(np.cos(frame.v * np.float32(2 * np.pi / 0.055)) - 0.3, 0.08) * bump(rim + 0.07, 0.05)
        septa = septa * bump(frame.v - 0.34, 0.18)
        gain = finding.severity
        chest.add(chest.lungs[side] * ((0.07 + 0.20 * gain) * haze + (0.04 + 0.06 * gain) * septa))


def _lobe(chest: Chest, finding: Finding, side: str, rng: np.random.Generator) -> Plane:
    """A part of a lung with a straight border: the upper lobe ends at its fissure."""
    u, v = _place(finding, side, rng)
    size = 0.22 + 0.10 * finding.severity
    region = disc(chest.frame, (u, v), (size, size), softness=0.22)
    if finding.zone == "upper":
        region = region * edge(-0.16 - chest.frame.v, 0.012)
    return region * chest.lungs[side]


def _consolidation(chest: Chest, finding: Finding, rng: np.random.Generator) -> None:
    """A dense, even filling that hides the vessels."""
    for side in sides(finding):
        filled = _lobe(chest, finding, side, rng)
        chest.vessels = chest.vessels * (1 - 0.8 * filled)
        chest.add((0.20 + 0.20 * finding.severity) * filled)


def _pneumonia(chest: Chest, finding: Finding, rng: np.random.Generator) -> None:
    """A patchy filling crossed by dark, air-filled bronchi."""
    frame = chest.frame
    for side in sides(finding):
        patches = edge(cloud(frame.size, 15, rng) - 0.45, 0.08)
        filled = _lobe(chest, finding, side, rng)
        spread = np.arctan2(frame.v - HILUM[1], np.abs(frame.u) - HILUM[0])
        bronchi = bump(np.sin(spread * np.float32(5.0) + np.float32(rng.uniform(0, 6))), 0.30)
        chest.add((0.14 + 0.20 * finding.severity) * filled * (0.25 + 0.75 * patches) * (1 - 0.7 * bronchi))


def _atelectasis(chest: Chest, finding: Finding, rng: np.random.Generator) -> None:
    """Oblique plates; the dome below is raised in `frontal.shape_of`."""
    frame, across = chest.frame, np.abs(chest.frame.u)
    for side in sides(finding):
        low = chest.domes[side] - 0.06 if finding.zone == "base" else _HEIGHT[finding.zone]
        for plate in range(1 + round(2 * finding.severity)):
            height = low - 0.075 * plate + rng.uniform(-0.02, 0.02)
            slope = rng.uniform(-0.25, 0.25)
            tilted = frame.v - np.float32(height) - np.float32(slope) * (across - 0.42)
            run = edge(across - 0.20, 0.02) * edge(0.52 + 0.14 * finding.severity - across, 0.02)
            band = bump(tilted, 0.018 + 0.012 * finding.severity) * run
            chest.add((0.18 + 0.14 * finding.severity) * band * chest.lungs[side])
        crowding = blob(frame, (SIDES[side] * 0.38, low + 0.04), (0.26, 0.10))
        chest.add((0.03 + 0.14 * finding.severity) * crowding * chest.lungs[side])


def _pneumothorax(chest: Chest, finding: Finding, rng: np.random.Generator) -> None:
    """Air between lung and wall: black, without markings, behind a fine pleural line."""
    frame, gain = chest.frame, finding.severity
    fade = edge(-0.30 + 1.0 * gain - frame.v, 0.10)
    inset = (0.07 + 0.22 * gain + 0.01 * np.float32(rng.random())) * fade
    lung_edge = chest.wall - np.abs(frame.u) - inset - 0.10 * gain * edge(-0.62 - frame.v, 0.05)
    field = chest.fields[finding.side]
    free = field * (1 - edge(lung_edge, 0.006)) * fade
    chest.vessels = chest.vessels * (1 - free)
    chest.add(0.12 * gain * field * fade * edge(lung_edge, 0.02) - 0.10 * free)
    chest.add(0.13 * field * fade * bump(lung_edge, 0.010))


def _effusion(chest: Chest, finding: Finding, rng: np.random.Generator) -> None:
    """Fluid that fills the angle and climbs the wall in a meniscus."""
    frame, gain = chest.frame, finding.severity
    climb = np.clip((np.abs(frame.u) - 0.25) * np.float32(1 / 0.45), 0, 1) ** 2
    jitter = np.float32(rng.uniform(-0.02, 0.02))
    level = 0.72 - 0.50 * gain + jitter - (0.20 + 0.22 * gain) * climb
    for side in sides(finding):
        fluid = edge(frame.v - level, 0.022) * chest.fields[side]
        chest.vessels = chest.vessels * (1 - fluid)
        chest.ribs = chest.ribs * (1 - 0.6 * fluid)
        chest.add(0.38 * fluid * (0.35 + 0.65 * np.clip(chest.lungs[side], 0, 1)))


def _pleural_other(chest: Chest, finding: Finding, rng: np.random.Generator) -> None:
    """A dense rim along the wall or over the apex, or calcified plaques."""
    frame, gain = chest.frame, finding.severity
    rim = np.abs(frame.u) - chest.wall
    band = edge(rim + 0.07 + 0.08 * gain, 0.010)
    for side in sides(finding):
        if finding.kind == "plaque":
            specks = edge(cloud(frame.size, 22, rng) - 0.50, 0.06)
            specks = specks * blob(frame, (SIDES[side] * 0.52, 0.20), (0.17, 0.22))
            chest.add((0.28 + 0.22 * gain) * specks * chest.fields[side])
            continue
        height = -0.66 if finding.zone == "apex" else 0.22
        along = bump(frame.v - np.float32(height), 0.16 if finding.zone == "apex" else 0.26)
        chest.add((0.24 + 0.16 * gain) * band * along * chest.fields[side])


PAINTERS: Final[dict[str, Painter]] = {
    "Lung Opacity": _opacity,
    "Lung Lesion": _lesion,
    "Edema": _edema,
    "Consolidation": _consolidation,
    "Pneumonia": _pneumonia,
    "Atelectasis": _atelectasis,
    "Pneumothorax": _pneumothorax,
    "Pleural Effusion": _effusion,
    "Pleural Other": _pleural_other,
}
