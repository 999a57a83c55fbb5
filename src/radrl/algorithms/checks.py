"""What the equations demand of their inputs: numbers that are finite, and shapes that fit."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from radrl.algorithms.f_measure import FloatArray


def finite(values: npt.ArrayLike, name: str) -> FloatArray:
    """Take numbers as float64.

    Args:
        values: any shape.
        name: what they are called in the message.

    Returns:
        The same numbers, same shape.

    Raises:
        ValueError: when one is NaN or infinite, with its place.
    """
    array = np.asarray(values, np.float64)
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):  # not its size, which is 0 for the empty place of a single number
        place = tuple(int(i) for i in bad[0])
        raise ValueError(f"{name} at {place} is {array[place]}; it must be finite")
    return array


def rates(values: npt.ArrayLike, name: str) -> FloatArray:
    """Take numbers in [0, 1] as float64.

    Args:
        values: any shape.
        name: what they are called in the message.

    Returns:
        The same numbers, same shape.

    Raises:
        ValueError: when one lies outside [0, 1] or is NaN, with its place.
    """
    array = finite(values, name)
    bad = np.argwhere((array < 0) | (array > 1))
    if len(bad):
        place = tuple(int(i) for i in bad[0])
        raise ValueError(f"{name} at {place} is {array[place]}; it must lie in [0, 1]")
    return array


def same_shape(**arrays: npt.NDArray[np.generic]) -> None:
    """Demand that arrays are paired entry by entry.

    Args:
        **arrays: the arrays by their names.

    Raises:
        ValueError: when two shapes differ, with all shapes by name.
    """
    if len({array.shape for array in arrays.values()}) > 1:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(f"shapes differ: {shapes}")


def require_choice(value: str, name: str, valid: tuple[str, ...]) -> None:
    """Demand that a choice is one of those there are.

    Args:
        value: what was chosen.
        name: of the choice.
        valid: what there is to choose.

    Raises:
        ValueError: when it is none of them.
    """
    if value not in valid:
        raise ValueError(f"unknown {name} {value!r}; valid: {', '.join(valid)}")
