"""Where the frozen start lies, the policy that a KL term and the oracle compare with.

It is asked once a batch of rollouts and lies idle while the update takes most memory. On the host it costs a
card nothing then, and one copy over the bus a batch: its numbers are the same wherever it lies.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Literal

import torch
from trl.trainer.utils import use_adapter

from radrl.process.devices import place
from radrl.training.preflight import SettingsError

logger = logging.getLogger(__name__)

Where = Literal["device", "host"]
"""As `compute.frozen_start` says it."""
HOST: Final = "host"


class OnHost:
    """A model whose weights lie in the host's memory but for the time of a block.

    Args:
        model: that does not train, on a device; its buffers stay there.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        self.weights = list(model.parameters())  # one that is tied is there once
        self.device = self.weights[0].device
        self.kept = [_host(weight.data) for weight in self.weights]
        self._lay(self.kept)

    @contextmanager
    def there(self) -> Iterator[None]:
        """A block in which the weights are on the device."""
        # from pinned memory copies wait for nobody; what computes with them waits for them, in their stream
        self._lay([kept.to(self.device, non_blocking=True, copy=True) for kept in self.kept])
        try:
            yield
        finally:
            self._lay(self.kept)  # nothing has changed, so nothing is copied back

    def _lay(self, numbers: list[torch.Tensor]) -> None:
        for weight, own in zip(self.weights, numbers, strict=True):
            weight.data = own


def _host(numbers: torch.Tensor) -> torch.Tensor:
    """A copy in the host's memory, pinned where that speeds the way to the device."""
    pinned = numbers.device.type == "cuda"
    return torch.empty_like(numbers, device="cpu", pin_memory=pinned).copy_(numbers)


class AsksFrozenStart:
    """Mixin of TRL's trainer: the frozen start as it is asked, wherever it lies otherwise."""

    start_on_host: OnHost | None = None

    def _put_start(self, where: Where) -> None:
        """Put the frozen start where it is to lie; called once TRL has made it."""
        trainer: Any = self
        if where != HOST:
            return
        if trainer.ref_model is None:
            logger.info("compute.frozen_start is host, but no frozen start is held: adapters' is their base")
        else:
            self.start_on_host = OnHost(trainer.accelerator.unwrap_model(trainer.ref_model))

    @contextmanager
    def _frozen_start(self) -> Iterator[Any]:
        """The policy that training started from; of adapters their base."""
        trainer: Any = self
        if self.start_on_host is not None:
            with self.start_on_host.there():
                yield trainer.ref_model
        elif trainer.ref_model is not None:
            yield trainer.ref_model
        else:
            with use_adapter(trainer.accelerator.unwrap_model(trainer.model), None):
                yield trainer.model


def check(where: Where, training: Mapping[str, Any], device: str) -> None:
    """Refuse, before anything is loaded, a host that the frozen start cannot lie on.

    Args:
        where: it is to lie.
        training: the keys of `radrl.params.training.Training`.
        device: as params.yaml's `device`.

    Raises:
        SettingsError: where nothing would be gained, or processes hold parts of the weights.
    """
    if where != HOST or training["tunes"] == "lora":
        return
    if os.environ.get("ACCELERATE_USE_FSDP") == "true":
        raise SettingsError(
            "compute.frozen_start is host, but compute.config asks for FSDP, where each process holds a part "
            "of the frozen start, on its device: set compute.frozen_start to device, or compute.config to "
            "conf/accelerate/ddp.yaml"
        )
    if place(device).type == "cpu":
        raise SettingsError(
            "compute.frozen_start is host, but training computes on the CPU, whose memory that is: it would "
            "lie there twice while it is asked; set compute.frozen_start to device"
        )
