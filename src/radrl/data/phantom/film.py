"""A film of a case: positioning, anatomy, findings, exposure, blur, noise and the side marker."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.ndimage import gaussian_filter

from radrl.data.phantom.canvas import Frame, Plane, make_frame, stroke
from radrl.data.phantom.devices import draw_device
from radrl.data.phantom.findings import Case
from radrl.data.phantom.frontal import draw_bruise, draw_chest, shape_of
from radrl.data.phantom.lateral import draw_lateral
from radrl.data.phantom.pathology import PAINTERS

VIEWS: Final = ("frontal", "lateral")
_DEEPER: Final = 1.12  # the lateral film is drawn a little wider than its coordinates
_MOVED: Final = 0.01  # of a film taken again: standard deviation of its shift, half a pixel of 112


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """Draws a film when it is called, the same one each time; the arguments are those of `draw_film`."""

    case: Case
    rng: np.random.Generator
    size: int
    view: str = "frontal"
    noise: float = 0.03
    again: np.random.Generator | None = None

    def __call__(self) -> npt.NDArray[np.uint8]:
        """The film, shape (size, size)."""
        rng, again = deepcopy((self.rng, self.again))
        return draw_film(self.case, rng, self.size, self.view, self.noise, again)


def draw_film(
    case: Case,
    rng: np.random.Generator,
    size: int,
    view: str = "frontal",
    noise: float = 0.03,
    again: np.random.Generator | None = None,
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
    shown = 1 / (1 + np.exp(-np.float32(gain) * (density - np.float32(middle))))
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
