"""A training run that dies at a checkpoint, as a killed process would leave it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest
import torch


class Killed(RuntimeError):
    """Stands for the signal that ends a process."""


@pytest.fixture
def killed_after(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A block in which a training module's runs die right after the checkpoint of a step."""

    @contextmanager
    def block(module: ModuleType, step: int) -> Iterator[None]:
        class DyingReport(module.StepReport):  # type: ignore[name-defined,misc]
            def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                if state.global_step == step:
                    raise Killed

        with monkeypatch.context() as patched:
            patched.setattr(module, "StepReport", DyingReport)
            with pytest.raises(Killed):
                yield
        torch.manual_seed(99)  # another process has other states of the global generators

    return block
