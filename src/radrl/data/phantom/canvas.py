"""Drawing tools shared by the frontal and the lateral film: coordinates, soft edges, blobs, clouds, strokes.

Anatomy is drawn in chest coordinates: u runs from -1 (film's left) to 1, v from -1 (top) to 1. A frame maps
them to the film, so every shape is independent of the film's size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

Plane = npt.NDArray[np.floating[Any]]
"""A picture or a coordinate field, shape (H, W), float32 throughout."""
Point = tuple[float, float]

_SUPERSAMPLING = 3


@dataclass(frozen=True, slots=True)
class Frame:
    """The chest coordinates of every pixel of a film, and the way back."""

    size: int
    u: Plane
    v: Plane
    to_film: npt.NDArray[np.float64]  # (2, 3), chest coordinates to film coordinates in [-1, 1]


def make_frame(size: int, *, width: float, height: float, degrees: float, shift: Point) -> Frame:
    """Lay chest coordinates over a film.

    Args:
        size: height and width of the film in pixels.
        width: scale of the chest from side to side, 1.0 = standard.
        height: scale of the chest from top to bottom.
        degrees: tilt of the patient on the film.
        shift: where the chest's origin lies, in film coordinates.

    Returns:
        The frame.
    """
    angle = np.deg2rad(degrees)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    forward = turn @ np.diag([width, height])
    back = np.linalg.inv(forward)
    axis = (np.arange(size, dtype=np.float32) + 0.5) * (2 / size) - 1
    x, y = (axis[None, :] - np.float32(shift[0])), (axis[:, None] - np.float32(shift[1]))
    u, v = (np.float32(row[0]) * x + np.float32(row[1]) * y for row in back)
    return Frame(size, u, v, np.column_stack([forward, shift]))


def edge(distance: Plane, softness: float) -> Plane:
    """A soft step: 0 far below zero, 1 far above, over about four times `softness`."""
    step: Plane = 0.5 + 0.5 * np.tanh(distance * np.float32(0.5 / softness))
    return step


def bump(distance: Plane, width: float) -> Plane:
    """A soft ridge of height 1 where `distance` is zero."""
    ridge: Plane = np.exp(-np.square(distance * np.float32(1 / width)))
    return ridge


def blob(frame: Frame, centre: Point, radius: Point) -> Plane:
    """A soft elliptic spot of height 1."""
    spot: Plane = np.exp(-_ellipse(frame, centre, radius, 0.0))
    return spot


def disc(
    frame: Frame, centre: Point, radius: Point, *, degrees: float = 0.0, softness: float = 0.06
) -> Plane:
    """A filled ellipse with a soft rim; softness is relative to its radius."""
    return edge(1 - np.sqrt(_ellipse(frame, centre, radius, degrees)), softness)


def _ellipse(frame: Frame, centre: Point, radius: Point, degrees: float) -> Plane:
    u, v = frame.u - np.float32(centre[0]), frame.v - np.float32(centre[1])
    if degrees:
        cos, sin = np.float32(np.cos(np.deg2rad(degrees))), np.float32(np.sin(np.deg2rad(degrees)))
        u, v = cos * u + sin * v, cos * v - sin * u
    squared: Plane = np.square(u * np.float32(1 / radius[0])) + np.square(v * np.float32(1 / radius[1]))
    return squared


def cloud(size: int, cells: int, rng: np.random.Generator) -> Plane:
    """A smooth random field in about [0, 1] with `cells` patches a side, the same at every size."""
    seeds = rng.random((cells, cells), dtype=np.float32)
    return np.asarray(Image.fromarray(seeds).resize((size, size), Image.Resampling.BICUBIC))


def stroke(frame: Frame, points: Sequence[Point], width: float, *, closed: bool = False) -> Plane:
    """A smooth opaque line through chest coordinates.

    Args:
        frame: the film.
        points: the line's corners; they are rounded off.
        width: of the line, in film coordinates (2 = the whole film).
        closed: whether the line returns to its start, filled.

    Returns:
        Coverage in [0, 1].
    """
    fine = frame.size * _SUPERSAMPLING
    line = points if closed else _rounded(np.array(points))
    film = np.column_stack([line, np.ones(len(line))]) @ frame.to_film.T
    pixels = [(float(x), float(y)) for x, y in (film + 1) * (fine / 2)]
    canvas = Image.new("L", (fine, fine))
    pen = ImageDraw.Draw(canvas)
    if closed:
        pen.polygon(pixels, fill=255)
    else:
        pen.line(pixels, fill=255, width=max(1, round(width * fine / 2)), joint="curve")
    coverage: Plane = np.asarray(canvas.reduce(_SUPERSAMPLING), dtype=np.float32) * np.float32(1 / 255)
    return coverage


def _rounded(points: npt.NDArray[np.float64], rounds: int = 3) -> npt.NDArray[np.float64]:
    """Chaikin's corner cutting; the ends stay."""
    for _ in range(rounds):
        near, far = 0.75 * points[:-1] + 0.25 * points[1:], 0.25 * points[:-1] + 0.75 * points[1:]
        inner = np.stack([near, far], axis=1).reshape(-1, 2)
        points = np.vstack([points[:1], inner, points[-1:]])
    return points
