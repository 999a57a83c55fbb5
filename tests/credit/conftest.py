"""Tokens that are letters, so that what lies where can be read off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from radrl.credit.base import Rollouts


class Letters:
    """Spans of a tokenizer whose token n is the n-th letter."""

    def locate(self, ids: Sequence[int]) -> Any:
        text = "".join(chr(96 + one) for one in ids)
        return SimpleNamespace(text=text, spans=np.array([[i, i + 1] for i in range(len(ids))]))


@pytest.fixture
def letters() -> Any:
    return Letters()


@pytest.fixture
def wrote() -> Callable[..., Rollouts]:
    """Outputs of letters, each film's side by side."""

    def build(*outputs: str, films: Sequence[str], group: int) -> Rollouts:
        ids = [[ord(letter) - 96 for letter in output] for output in outputs]
        return Rollouts(ids, outputs, [""] * len(outputs), films, group)

    return build
