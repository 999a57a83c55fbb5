"""Names of numbers as MLflow's charts group them: what stands before the first `/` is a section of the page.

Files and params.yaml keep their own names, whose prefix says who read what: `ce_rules_gold_macro14_f1` is
`ce_rules_gold/macro14_f1` here.
"""

from __future__ import annotations

import re
from typing import Final

HEADLINE: Final = "headline"
"""Section of the metrics that `eval.headline` names, before all others by what is shown of a run."""

STEPS: Final = "training"
"""Section of numbers that a trainer tells of its steps without a section of their own."""

_FAMILY: Final = re.compile(
    r"(ce_.+?)_((?:exact_match|micro|macro|sample|weighted|mccs).*)|(nlg|green_rules|radgraph_rules|radgraph|green|radeval)_(.+)"
)


def grouped(key: str, default: str | None = None) -> str:
    """A number's name with its section.

    Args:
        key: as the stage names it, keys of nested tables joined by dots.
        default: the section of names that have none of their own; nothing leaves them without.

    Returns:
        The name, unchanged where it has a section.
    """
    if "/" in key:
        return key
    if found := _FAMILY.fullmatch(key):
        section, name = (part for part in found.groups() if part is not None)
        return f"{section}/{name}"
    section, dot, name = key.partition(".")
    if dot:
        return f"{section}/{name}"
    return f"{default}/{key}" if default else key
