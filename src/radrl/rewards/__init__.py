"""What a report is worth to the trainer: parts that are summed by weight, each finite or raising.

Lives here: one kind of reward a module, finite or raising, over labelers and scorers; and how rewards are
weighted and summed. A reward's equation is in `algorithms`.

For other trainers: `get`, `names`, `for_verl`, `for_easyr1` (docs/api.md), each imported
when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["for_easyr1", "for_verl", "get", "names"]

if TYPE_CHECKING:
    from radrl.rewards.other_trainers import for_easyr1, for_verl, get, names
else:

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(f"{__name__}.other_trainers"), name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
