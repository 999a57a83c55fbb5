from collections.abc import Callable

import numpy as np
import pytest

from radrl.data.images import Film


@pytest.fixture(scope="session")
def noise_film() -> Callable[..., Film]:
    """A film of noise: another seed is another film."""

    def draw(seed: int = 0, height: int = 24, width: int = 20) -> Film:
        return np.random.default_rng(seed).integers(0, 256, (height, width), dtype=np.uint8)

    return draw
