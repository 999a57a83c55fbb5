"""Films whose labels can be seen."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image

from radrl.algorithms.f_measure import BoolArray

SIDE = 56
LABELS = 14
SQUARE, NEVER, ALWAYS = 3, 5, 7
"""Labels: a bright square somewhere, one that no film has, one that all have; the others are chance."""

Sample = tuple[bytes, ...]


@pytest.fixture(scope="session")
def planted(one_thread: None) -> Callable[..., tuple[list[Sample], BoolArray]]:
    """N samples of one noisy film with their labels."""

    def draw(count: int, seed: int = 0) -> tuple[list[Sample], BoolArray]:
        rng = np.random.default_rng(seed)
        targets = rng.random((count, LABELS)) < 0.5
        targets[:, NEVER], targets[:, ALWAYS] = False, True
        samples = []
        for has in targets[:, SQUARE]:
            film = rng.integers(60, 120, (SIDE, SIDE), dtype=np.uint8)
            if has:
                x, y = rng.integers(0, SIDE - 14, 2)
                film[x : x + 14, y : y + 14] = 230
            samples.append((_png(film),))
        return samples, targets

    return draw


def _png(film: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(film).save(buffer, format="PNG")
    return buffer.getvalue()
