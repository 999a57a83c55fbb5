"""A policy's weights on their way to an engine in another process, through memory that both see.

Weights are laid into a file without a name (`memfd_create`), one after another, so that no second copy of the
model is made where it trains. The engine maps the file by the number that it has in this process.
Linux frees it with the last process that has it open: whoever is killed leaves nothing behind.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch

from radrl.storage.complete_weights import WeightsError, listed, not_finite, published_names

Weights = Iterable[tuple[str, torch.Tensor]]


def published(
    model: Any, weights: Weights, known: dict[str, str] | None = None
) -> Iterator[tuple[str, torch.Tensor]]:
    """Weights under the names that `save_pretrained` writes them by.

    Args:
        model: of transformers, without adapters; it knows what its checkpoint's names became.
        weights: under the names of its parameters.
        known: published names by those of parameters, found before; what is new is added, since looking a
            name up takes a millisecond.

    Raises:
        WeightsError: when a weight is not one of a checkpoint's.
    """
    names = {} if known is None else known
    for name, weight in weights:
        if name not in names:
            names[name] = _published(model, name)
        yield names[name], weight


def _published(model: Any, name: str) -> str:
    found = published_names(model, name)
    if len(found) != 1:
        raise WeightsError(
            f"{name} of {type(model).__name__} is {len(found)} tensors of a checkpoint, which are not "
            "handed over in memory; set training.engine to hf"
        )
    return found[0]


class WeightMemory:
    """Memory that another process of this user reads weights from.

    It is kept from one time to the next: the system takes longer to find pages than to fill them.

    Args:
        dtype: in which weights are laid down.
    """

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self._file = os.fdopen(os.memfd_create("weights"), "wb")
        self._places: dict[str, torch.Tensor] = {}
        self._index: list[list[Any]] = []

    @torch.no_grad()
    def lay(self, weights: Weights, *, mend: str) -> Mapping[str, Any]:
        """Lay weights down, where those of the same names lay before.

        Args:
            weights: by name, the same names and shapes each time. Where processes hold parts of them they are
                gathered, so all must ask.
            mend: what the message about weights that are no numbers ends with.

        Returns:
            What the other process is told, as JSON holds it: the `file`, and of each of the `weights` its
            name, dtype, shape and first byte. They lie there until `lay` is called again, or `close`.

        Raises:
            WeightsError: naming the first weight that holds what is no number.
        """
        for name, weight in weights:
            whole = weight.full_tensor() if hasattr(weight, "full_tensor") else weight
            if bad := not_finite([(name, whole)]):
                raise WeightsError(f"the policy that trains has NaN or infinity in {listed(bad)}. {mend}")
            self._place(name, whole.shape).copy_(whole)
        return {"file": f"/proc/{os.getpid()}/fd/{self._file.fileno()}", "weights": self._index}

    def close(self) -> None:
        """Give the memory back; a second time does nothing."""
        self._places.clear()
        self._file.close()

    def _place(self, name: str, shape: torch.Size) -> torch.Tensor:
        """Where a weight lies, from a page's first byte on."""
        if name not in self._places:
            file, size = self._file.fileno(), shape.numel() * self.dtype.itemsize
            start = os.fstat(file).st_size
            os.ftruncate(file, start - -size // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY)
            pages = mmap.mmap(file, size, offset=start)
            self._places[name] = torch.frombuffer(pages, dtype=self.dtype).view(shape)
            self._index.append([name, str(self.dtype).removeprefix("torch."), list(shape), start])
        return self._places[name]
