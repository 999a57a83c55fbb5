"""The parts of the check, the most valuable first, so that 25 minutes hold what matters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple

Keep = Callable[[dict[str, Any]], None]
"""Takes all that a part has found so far; what was kept is there though the part is killed."""


class Part(NamedTuple):
    """A part.

    Args:
        name: as `--only` takes it.
        where: module and function, which is called with the setup, what keeps findings, and `given`.
        limit: seconds after which it is killed.
        given: what tells parts of one function apart.
    """

    name: str
    where: str
    limit: int
    given: tuple[Any, ...] = ()

    def measure(self, setup: Any, keep: Keep) -> None:
        """Run it, in this process."""
        module, _, function = self.where.partition(":")
        getattr(import_module(module), function)(setup, keep, *self.given)


PARTS: Final = (
    Part("machine", "gpu_check.machine:measure", 90),
    Part("exactness", "gpu_check.exactness:measure", 210),
    Part("speed-8", "gpu_check.speed:measure", 330, (8,)),
    Part("decoding", "gpu_check.decoding:measure", 150),
    Part("resume", "gpu_check.resume:measure", 210),
    Part("throughputs", "gpu_check.throughputs:measure", 150),
    Part("speed-16", "gpu_check.speed:measure", 330, (16,)),
    Part("memory", "gpu_check.memory:measure", 150),
)
"""Their limits are for a GPU; a part that ends early leaves its time to the others."""


def chosen(names: Sequence[str] | None) -> list[Part]:
    """The parts of some names, in their own order; all without names.

    Raises:
        ValueError: naming those there are, when one is none.
    """
    known = {part.name: part for part in PARTS}
    if unknown := [name for name in names or () if name not in known]:
        raise ValueError(f"{unknown[0]!r} is no part; there are {', '.join(known)}")
    return [part for part in PARTS if names is None or part.name in names]
