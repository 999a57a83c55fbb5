"""The frontal chest: what lies in it and how dense it is, before any overlay of findings.

Densities are relative attenuations: about 0 for free air, 0.2 for lung, 0.6 for the chest wall, 0.8 for heart
and liver, 1 for bone and metal over these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from radrl.data.phantom.canvas import Frame, Plane, blob, bump, cloud, disc, edge, stroke
from radrl.data.phantom.findings import Case, Finding

SIDES: Final[dict[str, int]] = {"right": -1, "left": 1}
"""Sign of u on each side: the patient's right is on the film's left."""
HILUM: Final = (0.21, -0.06)
_RIB_SPACING: Final = 0.158


@dataclass(frozen=True, slots=True)
class Shape:
    """What findings and build change in the anatomy.

    Args:
        heart: width of the heart, 1 = normal.
        mediastinum: added half-width of the mediastinum.
        domes: height v of the top of each diaphragm dome, by side.
        congestion: of the vessels, 0 = none.
        aorta: size of the aortic knob, 1 = normal.
        breast: density of the breast shadows, 0 = none.
        broken_ribs: the fractures.
    """

    heart: float
    mediastinum: float
    domes: dict[str, float]
    congestion: float
    aorta: float
    breast: float
    broken_ribs: tuple[Finding, ...]


@dataclass(slots=True)
class Chest:
    """A chest being drawn; findings change its planes.

    Args:
        frame: the film's chest coordinates.
        wall: half-width of the inner chest wall at every height.
        lungs: aerated share of every pixel, by side, heart and mediastinum left out.
        fields: the whole pleural cavity of each side, behind the heart too.
        domes: height v of each dome's top.
        density: everything but ribs and vessels.
        ribs: added density of the rib cage.
        vessels: added density of the lung markings.
    """

    frame: Frame
    wall: Plane
    lungs: dict[str, Plane]
    fields: dict[str, Plane]
    domes: dict[str, float]
    density: Plane
    ribs: Plane
    vessels: Plane

    def add(self, plane: Plane) -> None:
        """Add density."""
        self.density = self.density + plane

    def total(self) -> Plane:
        """All densities together."""
        return self.density + self.ribs + self.vessels


def shape_of(case: Case) -> Shape:
    """Outlines of a case's chest after its findings and its depth of breath."""
    anatomy = case.anatomy
    heart = anatomy.heart * (1.06 if case.portable else 1.0)
    heart *= 1 + max((0.12 + 0.45 * f.severity for f in case.labelled("Cardiomegaly")), default=0.0)
    mediastinum = max(
        (0.025 + 0.13 * f.severity for f in case.labelled("Enlarged Cardiomediastinum")), default=0.0
    )
    level = 0.40 + anatomy.dome - (0.12 if case.shallow else 0.0)
    domes = {"right": level, "left": level + 0.05}
    for finding in case.labelled("Atelectasis"):
        for side in sides(finding) if finding.zone == "base" else ():
            domes[side] -= 0.02 + 0.10 * finding.severity
    congestion = max((0.3 + 1.1 * f.severity for f in case.labelled("Edema")), default=0.0)
    return Shape(
        heart, mediastinum, domes, congestion, anatomy.aorta, anatomy.breast, case.labelled("Fracture")
    )


def sides(finding: Finding) -> Sequence[str]:
    """The sides a finding lies on: right, left, or both."""
    return ("right", "left") if finding.side in ("both", "midline") else (finding.side,)


def draw_chest(frame: Frame, shape: Shape, rng: np.random.Generator) -> Chest:
    """Draw the anatomy of a frontal film.

    Args:
        frame: the film's chest coordinates.
        shape: outlines after the findings.
        rng: the patient's own generator: vessels and bowel gas differ between patients.

    Returns:
        The chest, ready for findings.
    """
    across = np.abs(frame.u)
    wall = _wall(frame.v)
    silhouette = np.maximum(_heart(frame, shape.heart), _mediastinum(frame, shape))
    domes = {side: _dome(across, shape.domes[side]) for side in SIDES}
    below = np.where(frame.u < 0, domes["right"], domes["left"])
    cavity = edge(wall - across, 0.010) * edge(below - frame.v, 0.010) * edge(across - 0.05, 0.012)
    fields: dict[str, Plane] = {side: cavity * edge(sign * frame.u, 0.01) for side, sign in SIDES.items()}
    lungs: dict[str, Plane] = {side: field * (1 - silhouette) for side, field in fields.items()}
    air = lungs["right"] + lungs["left"]
    density = _body(frame, across) - 0.40 * air + 0.19 * silhouette * (1 - edge(frame.v - below, 0.03))
    density += _abdomen(frame, below, wall, across, rng) + _spine(frame, across) + _shoulders(frame, across)
    density += shape.breast * _breasts(frame) - _airways(frame)
    return Chest(
        frame, wall, lungs, fields, shape.domes, density,
        ribs=_ribs(frame, across, wall, below, shape.broken_ribs),
        vessels=_vessels(frame, air, shape.congestion, rng),
    )  # fmt: skip


def _wall(v: Plane) -> Plane:
    """Half-width of the inner chest wall: an egg with its tip at the lung's apex."""
    upper = np.clip((0.30 - v) * np.float32(1 / 1.10), 0, 1)
    lower = np.clip(v - 0.30, 0, 1)
    wall: Plane = 0.745 * np.sqrt(np.clip(1 - upper**2.7, 0, 1)) - 0.06 * lower
    return wall


def _dome(across: Plane, level: float) -> Plane:
    """Height of a diaphragm dome; it falls steeply into the lateral angle."""
    reach = np.clip((across - 0.28) * np.float32(1 / 0.42), -0.7, 1.3)
    dome: Plane = level + np.where(reach > 0, 0.30 * np.abs(reach) ** 2.4, 0.03 * reach**2)
    return dome


def _heart(frame: Frame, size: float) -> Plane:
    """The heart's outline; enlargement widens it mostly to the left."""
    centre = (0.115 + 0.06 * (size - 1), 0.23)
    ventricle = disc(frame, centre, (0.335 * size, 0.225 * size**0.6), degrees=38, softness=0.035)
    atrium = disc(frame, (-0.05, 0.26), (0.145 * size**1.2, 0.27), degrees=14, softness=0.05)
    slope = 0.11 + 0.40 * size * np.clip(frame.v + 0.16, 0, 0.18)
    waist = (
        edge(slope - np.abs(frame.u - 0.05), 0.015) * edge(frame.v + 0.16, 0.04) * edge(0.3 - frame.v, 0.05)
    )
    return np.maximum(np.maximum(ventricle, atrium), waist)


def _mediastinum(frame: Frame, shape: Shape) -> Plane:
    """The central shadow above the heart with aortic knob, pulmonary trunk and upper vena cava."""
    v = frame.v
    wide = shape.mediastinum * np.exp(-np.square(np.square((v + 0.36) * np.float32(1 / 0.40))))
    knob = 0.055 * shape.aorta * bump(v + 0.36, 0.085)
    left = 0.10 + knob + 0.045 * bump(v + 0.12, 0.11) + 1.2 * wide
    right = 0.115 + 0.02 * bump(v + 0.25, 0.2) + 0.8 * wide
    inside = np.where(frame.u > 0, left - frame.u, right + frame.u)
    return edge(inside, 0.010) * edge(0.45 - v, 0.05)


def _body(frame: Frame, across: Plane) -> Plane:
    """Soft tissue: neck, shoulders, flanks; thinner towards its edge."""
    v = frame.v
    girth = 0.26 + 0.92 * edge(v + 0.76, 0.035) - 0.18 * edge(v + 0.20, 0.10)
    inside = np.clip(1 - np.square(across / girth), 0, 1)
    body: Plane = edge(girth - across, 0.012) * (0.34 + 0.30 * np.sqrt(inside)) + 0.02
    return body


def _abdomen(frame: Frame, below: Plane, wall: Plane, across: Plane, rng: np.random.Generator) -> Plane:
    """Liver and spleen under the domes, the stomach's bubble under the left one, some bowel gas."""
    under = edge(frame.v - below, 0.012) * edge(wall + 0.06 - across, 0.04)
    place, width = 0.36 + 0.1 * rng.random(), 0.09 + 0.07 * rng.random()
    dome = float(np.min(np.where(frame.u > 0, below, 2.0)))
    bubble = disc(frame, (place, dome + 0.14), (width, 0.065), softness=0.18)
    gas = blob(frame, (0.15 - 0.5 * rng.random(), 0.93), (0.12, 0.07))
    abdomen: Plane = under * (0.20 - 0.26 * bubble * (0.4 + 0.6 * rng.random()) - 0.10 * gas)
    return abdomen


def _spine(frame: Frame, across: Plane) -> Plane:
    """The spine's column with the discs between its vertebrae."""
    discs = np.cos(frame.v * np.float32(2 * np.pi / 0.145))
    processes = bump(across, 0.02) * edge(discs - 0.5, 0.1)
    spine: Plane = edge(0.075 - across, 0.012) * (0.08 + 0.03 * discs) + 0.04 * processes
    return spine


def _shoulders(frame: Frame, across: Plane) -> Plane:
    """Collar bones, shoulder blades and the heads of the upper arms."""
    v = frame.v
    run = across - 0.08
    bow = v + 0.60 + 0.20 * run + 0.035 * np.sin(run * np.float32(8.0))
    collar = edge(0.024 - np.abs(bow), 0.006) * edge(across - 0.07, 0.02) * edge(0.86 - across, 0.03)
    blade_edge = across - 0.60 - 0.16 * (v + 0.6)
    blade = edge(blade_edge, 0.012) * edge(v + 0.62, 0.05) * edge(0.02 - v, 0.08)
    head = np.maximum(disc(frame, (0.97, -0.60), (0.14, 0.13)), disc(frame, (-0.97, -0.60), (0.14, 0.13)))
    shoulders: Plane = 0.18 * collar + 0.05 * blade + 0.05 * bump(blade_edge, 0.02) * blade + 0.12 * head
    return shoulders


def _breasts(frame: Frame) -> Plane:
    """Soft shadows over the lower lungs."""
    return 0.09 * (blob(frame, (-0.46, 0.34), (0.26, 0.24)) + blob(frame, (0.46, 0.34), (0.26, 0.24)))


def _airways(frame: Frame) -> Plane:
    """Windpipe and main bronchi, darker than what surrounds them."""
    pipe = stroke(frame, [(0.0, -1.1), (-0.005, -0.6), (0.0, -0.24)], 0.075)
    right = stroke(frame, [(0.0, -0.26), (-0.06, -0.18), (-0.15, -0.08)], 0.05)
    left = stroke(frame, [(0.0, -0.26), (0.08, -0.17), (0.19, -0.10)], 0.045)
    return 0.15 * np.maximum(pipe, 0.7 * np.maximum(right, left))


def _ribs(frame: Frame, across: Plane, wall: Plane, below: Plane, broken: Sequence[Finding]) -> Plane:
    """Ribs, back and front; a broken one is stepped and gapped at its fracture."""
    back = (frame.v + 0.86 - 0.10 * across - 0.42 * across**3) * np.float32(1 / _RIB_SPACING)
    front = (frame.v + 0.55 - 0.52 * (0.78 - across)) * np.float32(1 / (1.12 * _RIB_SPACING))
    gap: Plane = np.ones_like(across)
    for finding in broken:
        step, hole = _break(frame, across, back, finding)
        back, gap = back + step, gap * hole
    cage = edge(wall + 0.025 - across, 0.012) * edge(across - 0.075, 0.01) * edge(0.80 - frame.v, 0.08)
    shade = 1 - 0.55 * edge(frame.v - below, 0.03)
    front_part = 0.055 * _rib_profile(front) * edge(across - 0.30, 0.05) * edge(frame.v + 0.55, 0.06)
    ribs: Plane = cage * shade * (0.115 * _rib_profile(back) * gap * edge(frame.v + 0.88, 0.03) + front_part)
    return ribs


def _rib_profile(phase: Plane) -> Plane:
    """Density across a rib: a band with brighter rims, once a unit of phase."""
    wave = np.cos(phase * np.float32(2 * np.pi))
    profile: Plane = edge(wave - 0.30, 0.05) * (0.8 + 0.5 * bump(wave - 0.42, 0.2))
    return profile


def _break(frame: Frame, across: Plane, phase: Plane, finding: Finding) -> tuple[Plane, Plane]:
    """Step (in rib phases) and remaining bone of one broken rib."""
    rib, place = _broken_rib(finding)
    here = ((np.rint(phase) == rib) & (SIDES[finding.side] * frame.u > 0)).astype(np.float32)
    step: Plane = here * (0.10 + 0.28 * finding.severity) * edge(across - place, 0.012)
    hole: Plane = 1 - here * (0.6 + 0.4 * finding.severity) * bump(
        across - place, 0.018 + 0.022 * finding.severity
    )
    return step, hole


def _broken_rib(finding: Finding) -> tuple[int, float]:
    """Number of a broken rib in phases and where along it the break lies."""
    rng = np.random.default_rng(finding.seed)
    rib = {"upper": 2, "mid": 4, "lower": 6}[finding.zone] + int(rng.integers(2))
    return rib, 0.44 + 0.16 * float(rng.random())


def draw_bruise(chest: Chest, finding: Finding) -> None:
    """The bleeding beside a broken rib, under the pleura."""
    rib, place = _broken_rib(finding)
    height = rib * _RIB_SPACING - 0.86 + 0.10 * place + 0.42 * place**3
    spot = blob(chest.frame, (SIDES[finding.side] * (place + 0.02), height), (0.080, 0.060))
    chest.add((0.16 + 0.20 * finding.severity) * spot)


def _vessels(frame: Frame, air: Plane, congestion: float, rng: np.random.Generator) -> Plane:
    """Lung markings: branches that spread from each hilum and thin out, more and thicker with congestion."""
    u, v = np.abs(frame.u) - np.float32(HILUM[0]), frame.v - np.float32(HILUM[1])
    radius, angle = np.hypot(u, v), np.arctan2(v, u) + 0.7 * (cloud(frame.size, 8, rng) - 0.5)
    phase = np.where(frame.u > 0, *(np.float32(value) for value in rng.uniform(0, 2 * np.pi, 2)))
    wander = 0.9 * np.sin(radius * np.float32(9.0) + phase)
    coarse = bump(np.sin(3.5 * angle + wander + phase), 0.20 + 0.06 * congestion)
    fine = bump(np.sin(8.5 * angle - 1.7 * wander + 2 * phase), 0.30 + 0.06 * congestion)
    fade = np.exp(radius * np.float32(-1 / (0.30 + 0.08 * congestion)))
    hilum = bump(radius, 0.13)
    grain = cloud(frame.size, 26, rng) - 0.5
    strength = 0.14 * (1 + 0.35 * congestion)
    markings = strength * fade * (coarse + 0.6 * fine) + (0.10 + 0.05 * congestion) * hilum + 0.05 * grain
    vessels: Plane = air * markings
    return vessels
