"""A policy's weights on their way to an engine in another process, through memory that both see.

Weights are laid end to end into a file without a name (`memfd_create`), one after another, so that no second
copy of the model is made where it trains. The engine maps the file by the number that it has in this process.
Linux frees it with the last process that has it open: whoever is killed leaves nothing behind.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
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


@contextmanager
def in_memory(weights: Weights, dtype: torch.dtype, *, mend: str) -> Iterator[Mapping[str, Any]]:
    """A block in which another process of this user can read weights from memory.

    Args:
        weights: by name. Where processes hold parts of them they are gathered, so all must ask.
        dtype: in which they are laid down.
        mend: what the message about weights that are no numbers ends with.

    Yields:
        What the other process is told, as JSON holds it: the `file`, and of each of the `weights` its name,
        dtype, shape and first byte.

    Raises:
        WeightsError: naming the first weight that holds what is no number.
    """
    with os.fdopen(os.memfd_create("weights"), "wb") as file:
        index = [_lay(file, name, weight, dtype, mend) for name, weight in weights]
        file.flush()
        yield {"file": f"/proc/{os.getpid()}/fd/{file.fileno()}", "weights": index}


@torch.no_grad()
def _lay(file: Any, name: str, weight: torch.Tensor, dtype: torch.dtype, mend: str) -> list[Any]:
    """Append a weight, and say where it is."""
    whole = weight.full_tensor() if hasattr(weight, "full_tensor") else weight
    if bad := not_finite([(name, whole)]):
        raise WeightsError(f"the policy that trains has NaN or infinity in {listed(bad)}. {mend}")
    numbers = whole.to(dtype).cpu().contiguous()
    start = file.tell()
    file.write(memoryview(numbers.reshape(-1).view(torch.uint8).numpy()))
    return [name, str(dtype).removeprefix("torch."), list(numbers.shape), start]
