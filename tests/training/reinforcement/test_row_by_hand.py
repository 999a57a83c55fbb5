"""Log-probabilities and entropies of a row, with logits that are given."""

from __future__ import annotations

from math import log
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from radrl.training.reinforcement import shared_forward


class Given:
    """Two rollouts of two tokens and of one, over a vocabulary of two."""

    ids = torch.tensor([[1, 0], [1, 0]])
    mask = torch.tensor([[True, True], [True, False]])

    def inputs(self, known: Any) -> dict[str, Any]:
        return {"input_ids": torch.zeros(1, 7, dtype=torch.long)}

    def spread(self, found: torch.Tensor) -> torch.Tensor:
        return shared_forward.Rollouts.spread(self, found)  # type: ignore[arg-type]


def test_logits_by_hand() -> None:
    # odds of token 1 over token 0: 3 at temperature 1, so 9 before a temperature of 2 takes the root
    logits = torch.tensor([[[0.0, log(9)], [0.0, log(9)], [0.0, 0.0]]])
    asked: dict[str, Any] = {}

    def model(**given: Any) -> Any:
        asked.update(given)
        return SimpleNamespace(logits=logits)

    text = SimpleNamespace(vocab_size=2)
    known = SimpleNamespace(config=SimpleNamespace(get_text_config=lambda: text))
    rollouts: Any = Given()
    found, entropy = shared_forward._of_row(model, known, rollouts, 2.0, True, False)
    assert found.tolist() == [
        [pytest.approx(log(3 / 4)), pytest.approx(log(1 / 4))],
        [pytest.approx(log(1 / 2)), 0.0],  # 0 at padding
    ]
    quarter = -(3 / 4 * log(3 / 4) + 1 / 4 * log(1 / 4))
    assert entropy is not None
    assert entropy.tolist() == [[pytest.approx(quarter)] * 2, [pytest.approx(log(2)), 0.0]]
    # of the rollouts' tokens alone, and nothing is kept for tokens that nobody writes
    assert (asked["logits_to_keep"], asked["use_cache"]) == (3, False)
    assert shared_forward._of_row(model, known, rollouts, 2.0, False, False)[1] is None
