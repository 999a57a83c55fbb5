"""transformers' models in this process, with radrl's own loop and draws."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from radrl.policy import folder
from radrl.policy.encoding import Films, decode_films
from radrl.policy.folder import Policy
from radrl.policy.generation import write
from radrl.policy.writers.base import Written
from radrl.process.devices import place
from radrl.process.runtime import device_name, pin


class HfWriter:
    """See `radrl.policy.writers.base.Writer`.

    Args:
        policy: who writes, where it lies.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy, self.device = policy, device_name(policy.model.device)

    @classmethod
    def open(cls, path: Path, *, dtype: str, device: str, threads: int) -> HfWriter:
        """The policy of a folder.

        Args:
            path: the folder.
            dtype: of the weights.
            device: where the policy computes, as params.yaml's `device`.
            threads: of torch.
        """
        where = place(device)
        pin(threads, where)
        return cls(folder.load(path, dtype=dtype, device=where))

    def write(self, films: Sequence[Films], prompt: str, **how: Any) -> list[list[Written]]:
        """See `radrl.policy.writers.base.Writer`."""
        return write(self.policy, [decode_films(own) for own in films], prompt, **how)

    def close(self) -> None:
        """See `radrl.policy.writers.base.Writer`: the memory goes with the last who knows the policy."""
