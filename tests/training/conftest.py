"""A training run that dies at a checkpoint, and a CheXbert whose gradients can be worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import torch

from radrl.observations import INDEX, OBSERVATIONS

if TYPE_CHECKING:
    from radrl.labelers.chexbert.labeler import CheXbertLabeler


class Killed(RuntimeError):
    """Stands for the signal that ends a process."""


@pytest.fixture
def killed_after(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A block in which a training module's runs die between the checkpoint of a step and the next step."""

    @contextmanager
    def block(module: ModuleType, step: int) -> Iterator[None]:
        class DyingReport(module.StepReport):  # type: ignore[name-defined,misc]
            def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                if state.global_step == step:
                    raise Killed

        with monkeypatch.context() as patched:
            patched.setattr(module, "StepReport", DyingReport)
            with pytest.raises(Killed):
                yield
        torch.manual_seed(99)  # another process has other states of the global generators

    return block


class Energy(torch.nn.Module):
    """A CheXbert whose positive logit of observation k is c_k / 2 times the sum of its tokens' |E_j|^2.

    Its gradient is c_k E_j, so eq. 11 of DEER is (sum of the chosen c_k) |E_j|. Every blank logit is 1, so k
    is positive where the sum exceeds 2 / c_k.

    Args:
        norms: |E_j| of every id of the vocabulary.
        strengths: c_k by observation; the others' are 0.
    """

    def __init__(self, norms: list[float], strengths: dict[str, float]) -> None:
        super().__init__()
        table = torch.tensor([[0.6 * norm, 0.8 * norm] for norm in norms])
        self.words = torch.nn.Embedding.from_pretrained(table)
        self.bert = SimpleNamespace(
            get_input_embeddings=lambda: self.words,
            config=SimpleNamespace(max_position_embeddings=64),
        )
        self.strength = torch.zeros(len(OBSERVATIONS))
        for name, value in strengths.items():
            self.strength[INDEX[name]] = value
        self.read: list[int] = []  # reports of each forward pass

    def forward(
        self, ids: Any, mask: torch.Tensor, inputs_embeds: torch.Tensor | None = None
    ) -> list[torch.Tensor]:
        embedded = self.words(ids) if inputs_embeds is None else inputs_embeds
        self.read.append(len(mask))
        energy = (embedded.square().sum(-1) * mask).sum(1)  # (B,)
        zero, one = torch.zeros_like(energy), torch.ones_like(energy)
        heads = [torch.stack([one, c / 2 * energy, zero, zero], dim=1) for c in self.strength[:-1]]
        return [*heads, torch.stack([one, self.strength[-1] / 2 * energy], dim=1)]


def energy_labeler() -> CheXbertLabeler:
    """Reads "heart" (5), "big" (1), "is" (2) and letters (0.1, 0.2, ...); all else weighs nothing.

    Cardiomegaly has a strength of 1, Edema of 3.
    """
    from radrl.labelers.chexbert.labeler import CheXbertLabeler
    from radrl.labelers.chexbert.model import SPECIAL, build_tokenizer

    letters = "abcdefghijklmnopqrstuvwxyz"
    words = {"heart": 5.0, "big": 1.0, "is": 2.0} | {x: 0.1 * (i + 1) for i, x in enumerate(letters)}
    pieces = {f"##{x}": words[x] for x in letters}
    norms = dict.fromkeys(SPECIAL, 0.0) | words | pieces
    model: Any = Energy(list(norms.values()), {"Cardiomegaly": 1.0, "Edema": 3.0})
    return CheXbertLabeler(model, build_tokenizer(list(norms)), name="chexbert_compact")


@pytest.fixture
def energy(one_thread: None) -> CheXbertLabeler:
    return energy_labeler()
