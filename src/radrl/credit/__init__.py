"""Credit: how a report's advantage is spread over its tokens (DiTPO, DEER eq. 6).

Lives here: one kind of credit a module, over the policy's tokens and labelers. Its equation is in
`algorithms`.

For other trainers: `get`, `names` (docs/api.md), imported when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["get", "names"]

if TYPE_CHECKING:
    from radrl.credit.other_trainers import get, names
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
