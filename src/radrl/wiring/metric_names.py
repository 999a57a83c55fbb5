"""Names of numbers as MLflow's charts group them: what stands before the first `/` is a section of the page.

Files and params.yaml keep their own names, whose prefix says who read what: `ce_rules_gold_macro14_f1` is
`ce_rules_gold/macro14_f1` here. What no table or family holds, such as counts, stands below the stage.
"""

from __future__ import annotations

import re
from typing import Final

HEADLINE: Final = "headline"
"""Section of the metrics that `eval.headline` names, before all others by what is shown of a run."""

STEPS: Final = "training"
"""Section of what a trainer tells of its steps: its own come first, those of TRL and the rewards below it."""

_FAMILY: Final = re.compile(
    r"(ce_.+?)_((?:exact_match|micro|macro|sample|weighted|mccs).*)|(nlg|weighted_findings|green_rules|radgraph_rules|radgraph|green|radeval)_(.+)"
)


def grouped(key: str, above: str | None = None, *, stage: str = "") -> str:
    """A number's name with its section.

    Args:
        key: as the stage names it, keys of nested tables joined by dots.
        above: a section that all names are put below.
        stage: the section of a name that tells of none.

    Returns:
        The name; without `above` unchanged where it has a section.

    Example:
        >>> grouped("words_mean", stage="eval")
        'eval/words_mean'
    """
    if above:
        return f"{above}/{key}"
    if "/" in key:
        return key
    if found := _FAMILY.fullmatch(key):
        section, name = (part for part in found.groups() if part is not None)
        return f"{section}/{name}"
    section, dot, name = key.partition(".")
    if dot:
        return f"{section}/{name}"
    return f"{stage}/{key}" if stage else key
