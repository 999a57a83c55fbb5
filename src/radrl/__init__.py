"""radrl: reinforcement learning for chest X-ray report generation as one reproducible pipeline.

`import radrl` runs nothing else: each name below is imported when it is first asked for (PEP 562), and with
it what it needs. docs/api.md has an example of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = [
    "OBSERVATIONS",
    "credit",
    "label",
    "load_labeler",
    "load_policy",
    "open_source",
    "read_corpus",
    "rewards",
    "score",
]

if TYPE_CHECKING:
    from radrl import credit, rewards
    from radrl.api import label, load_labeler, load_policy, open_source, read_corpus, score
    from radrl.observations import OBSERVATIONS
else:

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name in ("credit", "rewards"):
            return import_module(f"{__name__}.{name}")
        found = getattr(import_module(f"{__name__}.api"), name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
