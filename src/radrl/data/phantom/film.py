"""A film of a case: positioning, anatomy, findings, devices, exposure, blur, noise and the side marker."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.ndimage import gaussian_filter

from radrl.data.phantom.canvas import Frame, Plane, Point, blob, bump, cloud, disc, edge, make_frame, stroke
from radrl.data.phantom.findings import Case, Finding
from radrl.data.phantom.frontal import HILUM, SIDES, Chest, draw_bruise, draw_chest, shape_of, sides
from radrl.data.phantom.lateral import draw_lateral

_THIN: Final = 0.016
_TUBE: Final = 0.030

_DeviceDrawing = Callable[[Frame, float, np.random.Generator], Plane]
"""Frame, sign of u on the device's side (1 for the midline) and generator to added density."""

Painter = Callable[[Chest, Finding, np.random.Generator], None]
_HEIGHT: Final[dict[str, float]] = {"apex": -0.62, "upper": -0.42, "mid": -0.06, "lower": 0.22, "base": 0.33}
_DEPTH: Final[dict[str, float]] = {"apex": 0.34, "upper": 0.42, "mid": 0.50, "lower": 0.46, "base": 0.42}
VIEWS: Final = ("frontal", "lateral")
_DEEPER: Final = 1.12  # the lateral film is drawn a little wider than its coordinates
_MOVED: Final = 0.01  # of a film taken again: standard deviation of its shift, half a pixel of 112


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


_DEVICES: Final[dict[str, _DeviceDrawing]] = {
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
    return _DEVICES[finding.kind](frame, sign, np.random.default_rng(finding.seed))


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


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """Draws a film when it is called, the same one each time; the arguments are those of `draw_film`."""

    case: Case
    rng: np.random.Generator
    size: int
    view: str = "frontal"
    noise: float = 0.03
    again: np.random.Generator | None = None
    exposure: float = 0.0
    contrast: float = 1.0

    def __call__(self) -> npt.NDArray[np.uint8]:
        """The film, shape (size, size)."""
        rng, again = deepcopy((self.rng, self.again))
        return draw_film(
            self.case, rng, self.size, self.view, self.noise, again, self.exposure, self.contrast
        )


def draw_film(
    case: Case,
    rng: np.random.Generator,
    size: int,
    view: str = "frontal",
    noise: float = 0.03,
    again: np.random.Generator | None = None,
    exposure: float = 0.0,
    contrast: float = 1.0,
) -> npt.NDArray[np.uint8]:
    """Draw a film.

    What `rng` settles (pose, exposure, blur, grain) does not depend on the findings: two cases that
    differ in one finding give films that differ only by it.

    Args:
        case: the build and the findings.
        rng: generator of positioning and exposure.
        size: height and width in pixels, at least 32.
        view: "frontal" or "lateral".
        noise: standard deviation of the grain as a share of the full scale.
        again: draws another grain and a slight shift, as of a film taken a second time: pose and exposure
            are those of `rng`. Nothing for the film itself.
        exposure: added to the density that is mid-grey, which is 0.46 to 0.58 by itself; above 0 films are
            darker.
        contrast: times the slope of grey over density; below 1 films are flatter.

    Returns:
        The film, shape (size, size); bone and fluid are bright.

    Raises:
        ValueError: for another view, a size below 32 or a negative noise.
    """
    if view not in VIEWS:
        raise ValueError(f"no view {view!r}; use one of {', '.join(VIEWS)}")
    if size < 32 or noise < 0:
        raise ValueError(f"size must be at least 32 and noise at least 0, got size {size} and noise {noise}")
    frame = _pose(case, rng, size, view, again)
    gain, middle, sharpness = rng.uniform(4.3, 6.0), rng.uniform(0.46, 0.58), rng.uniform(0.25, 0.6)
    marker = _marker(frame, rng) if view == "frontal" else np.float32(0)
    grain = (again or rng).standard_normal((size, size), dtype=np.float32) * np.float32(noise)
    density = _frontal(case, frame) if view == "frontal" else draw_lateral(case, frame)
    density = gaussian_filter(density + marker, sharpness * size / 112, truncate=2.5)
    shown = 1 / (1 + np.exp(-np.float32(gain * contrast) * (density - np.float32(middle + exposure))))
    shown = shown + grain * (0.6 + 0.8 * shown)
    film: npt.NDArray[np.uint8] = np.rint(255 * np.clip(shown, 0, 1)).astype(np.uint8)
    return film


def _pose(
    case: Case, rng: np.random.Generator, size: int, view: str, again: np.random.Generator | None
) -> Frame:
    """Lay the patient on the film: a portable film is less straight and magnifies."""
    loose = 1.6 if case.portable else 1.0
    zoom = rng.normal(0.99 + (0.02 if case.portable else 0.0), 0.025)
    degrees = loose * rng.normal(0, 1.3)
    across, down = loose * rng.normal(0, 0.02), loose * rng.normal(0, 0.02)
    if again is not None:
        across, down = across + again.normal(0, _MOVED), down + again.normal(0, _MOVED)
    return make_frame(
        size,
        width=case.anatomy.width * zoom * (1.0 if view == "frontal" else _DEEPER),
        height=case.anatomy.height * zoom,
        degrees=degrees,
        shift=(across, down),
    )


def _frontal(case: Case, frame: Frame) -> Plane:
    chest = draw_chest(frame, shape_of(case), np.random.default_rng(case.anatomy.seed))
    for finding in case.findings:
        if finding.label in PAINTERS:
            PAINTERS[finding.label](chest, finding, np.random.default_rng(finding.seed))
        elif finding.label == "Fracture":
            draw_bruise(chest, finding)
        elif finding.label == "Support Devices":
            chest.add(draw_device(frame, finding))
    return chest.total()


def _marker(frame: Frame, rng: np.random.Generator) -> Plane:
    """The lead letter L beside the patient's left shoulder, mostly there."""
    u, v = 0.90 + rng.uniform(-0.04, 0.03), -0.84 + rng.uniform(-0.05, 0.05)
    strength = np.float32(0.8 if rng.random() < 0.7 else 0.0)
    letter = [(u, v - 0.05), (u, v + 0.04), (u, v + 0.04), (u + 0.05, v + 0.04)]
    return strength * stroke(frame, letter, 0.016)
