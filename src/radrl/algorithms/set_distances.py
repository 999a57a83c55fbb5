"""Distances between two sets of embeddings, that of a report's sentences and that of its reference's.

A set is an array of unit vectors, shape (N, D); the order of its rows does not matter, how often one stands
there may. All are symmetric, at least 0, and 0 between a set and itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, get_args

import numpy as np
from scipy.optimize import linear_sum_assignment

from radrl.algorithms.f_measure import FloatArray

Distance = Literal["chamfer", "hausdorff", "assignment", "energy", "mmd"]
DISTANCES: Final[tuple[Distance, ...]] = get_args(Distance)
Ground = Literal["cosine", "euclidean"]

FARTHEST: Final[dict[Distance, float]] = {
    "chamfer": 2.0,
    "hausdorff": 2.0,
    "assignment": 2.0,
    "energy": 4.0,
    "mmd": 2.0,
}
"""What none of them exceeds between sets of unit vectors."""
UNMATCHED: Final = 1.0
"""What an element without a partner costs in `assignment`: as one that shares nothing, at a right angle."""


def set_distance(
    one: FloatArray, other: FloatArray, *, distance: Distance, ground: Ground = "cosine", width: float = 1.0
) -> float:
    """How far two sets of unit vectors are apart.

    With d(x, y) between elements:

    - ``chamfer``: half of mean_x min_y d + mean_y min_x d;
    - ``hausdorff``: the larger of max_x min_y d and max_y min_x d;
    - ``assignment``: (least sum of d over pairs, each element in at most one, + `UNMATCHED` for each of the
      larger set's without a partner) / size of the larger set (Kuhn 1955);
    - ``energy``: 2 E d(x, y) - E d(x, x') - E d(y, y'), d Euclidean (Szekely and Rizzo 2013);
    - ``mmd``: E k(x, x') + E k(y, y') - 2 E k(x, y), the square of the maximum mean discrepancy of the kernel
      k = exp(-|x - y|^2 / (2 width^2)) (Gretton et al. 2012, biased estimate); `ground` has no part in it.

    Args:
        one: shape (N, D), N at least 1.
        other: shape (M, D), M at least 1.
        distance: which.
        ground: d, 1 - cos or |x - y|.
        width: of the kernel of ``mmd``.

    Raises:
        ValueError: when a set is empty, a name is unknown, or ``energy`` is asked for with the cosine, by
            which it compares the sets' means alone.

    Example:
        >>> left, right = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 0.0]])
        >>> set_distance(left, right, distance="chamfer"), set_distance(left, right, distance="hausdorff")
        (0.25, 1.0)
    """
    if not len(one) or not len(other):
        raise ValueError("a set without an element has no distance; say what it is worth")
    if distance not in DISTANCES:
        raise ValueError(f"unknown distance {distance!r}; valid: {', '.join(DISTANCES)}")
    if distance == "energy" and ground == "cosine":
        raise ValueError(
            "energy with the cosine compares the means of the sets alone; set ground to euclidean"
        )
    if distance == "mmd":
        return _means(one, other, lambda x, y: -_kernel(x, y, width))
    if distance == "energy":
        return _means(one, other, lambda x, y: _between(x, y, ground))
    between = _between(one, other, ground)  # (N, M)
    nearest = between.min(axis=1), between.min(axis=0)
    if distance == "chamfer":
        return float((nearest[0].mean() + nearest[1].mean()) / 2)
    if distance == "hausdorff":
        return float(max(nearest[0].max(), nearest[1].max()))
    rows, columns = linear_sum_assignment(between)
    alone = max(between.shape) - min(between.shape)
    return float((between[rows, columns].sum() + UNMATCHED * alone) / max(between.shape))


def _means(
    one: FloatArray, other: FloatArray, between: Callable[[FloatArray, FloatArray], FloatArray]
) -> float:
    """2 E d(x, y) - E d(x, x') - E d(y, y'); below 0 by rounding alone."""
    within = between(one, one).mean() + between(other, other).mean()
    return max(0.0, float(2 * between(one, other).mean() - within))


def _between(one: FloatArray, other: FloatArray, ground: Ground) -> FloatArray:
    """Distances of all pairs, shape (N, M)."""
    cosine = np.clip(1.0 - one @ other.T, 0.0, 2.0)
    cosine[cosine < 1e-12] = 0.0  # rounding of a vector's product with itself
    found: FloatArray = cosine if ground == "cosine" else np.sqrt(2.0 * cosine)
    return found


def _kernel(one: FloatArray, other: FloatArray, width: float) -> FloatArray:
    found: FloatArray = np.exp(-_between(one, other, "cosine") / width**2)  # |x - y|^2 = 2 (1 - cos)
    return found
