"""The oracle's term of a micro-batch, and what the frozen start is asked for, by hand: no policy is asked."""

from __future__ import annotations

from contextlib import contextmanager
from math import exp, log
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from radrl.training.reinforcement.trainer import ReportGRPOTrainer

# Of film 0 the first rollout is a pair, of film 1 neither is: one reference is asked for.
BATCH = {
    "pair_weight": torch.tensor([2.0, 0.0, 0.0]),
    "film": torch.tensor([0, 0, 1]),
    "reference_ids": torch.tensor([[5, 6], [5, 6], [7, 0]]),
    "reference_mask": torch.tensor([[1, 1], [1, 1], [1, 0]]),
    "completion_mask": torch.tensor([[1, 1], [1, 0], [1, 1]]),
    "completion_ids": torch.tensor([[1, 2], [3, 0], [1, 1]]),
    "prompt_ids": torch.tensor([[9], [9], [8]]),
    "prompt_mask": torch.ones(3, 1, dtype=torch.long),
}
OF_ROLLOUTS = torch.tensor([[-1.0, -3.0], [-4.0, 0.0], [-2.0, -2.0]])  # means by length: -2, -4, -2
OF_TEXTS = torch.tensor([[-1.0, -2.0]])  # -1.5


class Pretended:
    """What the trainer's methods ask it for."""

    def __init__(self, *, beta: float = 0.0, tau: float = 1.5) -> None:
        self.beta, self.oracle = beta, SimpleNamespace(tau=tau)
        self.args = SimpleNamespace(per_device_train_batch_size=2, per_device_eval_batch_size=7)
        self.model = SimpleNamespace(training=True)
        self.last_log_probabilities = OF_ROLLOUTS
        self.asked: list[Any] = []
        self.beside: Any = None

    def _of_texts(self, model: Any, batch: Any, texts: Any, size: int | None = None) -> torch.Tensor:
        self.asked.append(("texts", model, texts.ids.tolist(), size))
        return OF_TEXTS

    def _get_per_token_logps_and_entropies(self, model: Any, *, batch_size: int, **given: Any) -> Any:
        self.asked.append(("rollouts", model, batch_size, given["logits_to_keep"], self.beside is not None))
        return OF_ROLLOUTS, "entropies", None

    @contextmanager
    def _frozen_start(self) -> Any:
        assert not torch.is_grad_enabled()
        yield "start"

    @contextmanager
    def _beside(self, texts: Any) -> Any:
        self.beside = texts
        yield
        self.beside = None

    def _log_pairs(self, numbers: torch.Tensor, chosen: torch.Tensor) -> None:
        self.logged = numbers[:, chosen].flatten().tolist()
        self.pairs = chosen.tolist()


def test_term_by_hand() -> None:
    trainer: Any = Pretended()
    # the start: reference -2.5, rollouts -1.5; so the reference gained 1 and the first rollout lost 0.5
    starts = {"reference_start": torch.full((3,), -2.5), "rollout_start": torch.full((3,), -1.5)}
    found = ReportGRPOTrainer._preference(trainer, "policy", {**BATCH, **starts})
    loss = log(1 + exp(-1.5 * 1.5))  # -log sigmoid(tau h), h = 1 + 0.5
    assert float(found) == pytest.approx(2.0 * loss / 3)  # mean over all rollouts
    assert trainer.pairs == [True, False, False]
    assert trainer.logged == [pytest.approx(one) for one in (1.0, 1.5, loss, 1.0)]
    assert trainer.asked == [("texts", "policy", [[5, 6]], None)]


@pytest.mark.parametrize("training", [True, False])
def test_start_is_asked_for_rollouts_and_references_together(training: bool) -> None:
    trainer: Any = Pretended()
    trainer.model.training = training
    found = ReportGRPOTrainer._of_the_start(trainer, BATCH)
    size = 2 if training else 7
    assert trainer.asked == [("rollouts", "start", size, 2, True), ("texts", "start", [[5, 6]], size)]
    assert {name: own.tolist() for name, own in found.items()} == {
        "reference_start": [-1.5] * 3,  # who has no pair has any reference
        "rollout_start": [-2.0, -4.0, -2.0],
    }


def test_start_of_a_kl_term_is_asked_token_by_token() -> None:
    trainer: Any = Pretended(beta=0.1)
    found = ReportGRPOTrainer._of_the_start(trainer, BATCH)
    assert found["ref_per_token_logps"] is OF_ROLLOUTS
    assert set(found) == {"ref_per_token_logps", "reference_start", "rollout_start"}

    alone = {name: own for name, own in BATCH.items() if name != "pair_weight"}
    trainer = Pretended(beta=0.1)
    assert [*ReportGRPOTrainer._of_the_start(trainer, alone)] == ["ref_per_token_logps"]
    assert trainer.asked == [("rollouts", "start", 2, 2, False)]
