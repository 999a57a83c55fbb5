"""What tests of several parts of a training share."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from datasets import Dataset

from radrl.training.reinforcement.grpo import prompt_dataset


@pytest.fixture(scope="module")
def prompts(films: Callable[..., list[bytes]], texts: Callable[[int], list[str]], prompt: str) -> Dataset:
    return prompt_dataset([(film,) for film in films(6)], texts(6), [f"film{i}" for i in range(6)], prompt)
