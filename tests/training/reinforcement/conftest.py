"""What tests of several parts of a training share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from datasets import Dataset

from radrl.training.reinforcement import grpo
from radrl.training.reinforcement.grpo import prompt_dataset


@pytest.fixture(scope="module")
def prompts(films: Callable[..., list[bytes]], texts: Callable[[int], list[str]], prompt: str) -> Dataset:
    return prompt_dataset([(film,) for film in films(6)], texts(6), [f"film{i}" for i in range(6)], prompt)


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Every generated batch."""
    seen: list[dict[str, Any]] = []

    class Noting(grpo.ReportGRPOTrainer):
        def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
            batch = super()._generate_and_score_completions(inputs)
            seen.append(batch)
            return batch

    monkeypatch.setattr(grpo, "ReportGRPOTrainer", Noting)
    return seen
