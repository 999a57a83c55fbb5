"""The tables of arms: what a row is, and a cell a metric."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from radrl.evaluation.gold import GOLD
from radrl.pipelines.compare.rows import CEILING, TRIVIAL
from radrl.pipelines.compare.systems import KIND as SYSTEM
from radrl.pipelines.compare.systems import System
from radrl.pipelines.compare.table import mark
from radrl.readers.names import READERS

FAMILIES: Final = {
    "ce": "Clinical efficacy: agreement of labels, read by the labeler",
    "ce_gold": "Clinical efficacy against gold labels, the generated reports read by the labeler",
    "nlg": "Overlap of words",
    "nlg_meteor": "Overlap of words, their stems and synonyms (METEOR)",
    "radgraph_rules": "Agreement of entities and relations, found by rules in RadGraph's place",
    "green_rules": "Errors counted by rules in GREEN's place",
    "weighted_findings": "Findings matched and weighed by what they mean, read by rules",
    "radgraph": "Agreement of entities and relations, found by RadGraph",
    "green": "Errors counted by GREEN's judge",
    "radeval": "RadEval's metrics",
}
"""What a family of metrics says, by its name."""


def rows_of(
    comparison: pd.DataFrame,
    arms: Mapping[str, Any],
    systems: Mapping[str, System],
    settings: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """The rows of the tables.

    Args:
        comparison: a line a row and metric.
        arms: the section `arms`.
        systems: of `radrl.pipelines.compare.systems.read`.
        settings: the section `compare`.

    Returns:
        Of each row name, kind, what it is, and a cell a metric with its interval's place on its scale.
    """
    alpha = 1 - settings["bootstrap"]["confidence"]
    inner = comparison[comparison["arm"] != CEILING].groupby("metric")
    low, width = inner["low"].min(), inner["high"].max() - inner["low"].min()
    rows = []
    for name, lines in comparison.groupby("arm", sort=False):
        cells: dict[str, Any] = {}
        for line in lines.to_dict("records"):
            metric, span = line["metric"], width[line["metric"]] or 1.0
            place = [100 * (line[at] - low[metric]) / span for at in ("low", "value", "high")]
            drawn = name != CEILING and np.isfinite(place).all()
            cells[metric] = line | {
                "mark": mark(line, alpha),
                "bar": [round(at, 1) for at in place] if drawn else None,
                "tested": pd.notna(line["difference"]),
                "beaten_by": line["beaten_by"] if isinstance(line["beaten_by"], str) else "",
            }
        kind = lines["kind"].iloc[0]
        what = systems[str(name)].said if kind == SYSTEM else described(str(name), arms)
        rows.append({"name": name, "kind": kind, "what": what, "cells": cells})
    return rows


def title(group: str) -> str:
    """What a group of metrics says.

    Args:
        group: what their names begin with.
    """
    if not group.startswith("ce_"):
        return FAMILIES.get(group, group)
    labeler = group.removeprefix("ce_")
    family = "ce_gold" if labeler.endswith(GOLD) else "ce"
    return f"{FAMILIES[family]} {labeler.removesuffix(GOLD).replace('_', ' ')}"


def described(name: str, arms: Mapping[str, Any]) -> str:
    """What a row is, in a few words.

    Args:
        name: of an arm, of a row beside them, or of the ceiling.
        arms: the section `arms`.
    """
    if name == CEILING:
        return "the references against themselves, or gold labels; under 1 where 0 / 0 counts as 0"
    if name in TRIVIAL | READERS:
        return (TRIVIAL | READERS)[name]
    arm = arms[name]
    if not arm.get("reward"):
        return f"the {arm['start']} policy as it is"
    reward = " + ".join(part for part, value in arm["reward"].items() if value)
    parts = [f"{arm['start']} → reward {reward}", f"{arm.get('selection', 'full')} selection"]
    credit = arm.get("credit", "none")
    if credit != "none":
        parts.append(f"{next(iter(credit)) if isinstance(credit, dict) else credit} credit")
    if arm.get("oracle", "none") != "none":
        parts.append("OraPO's oracle")
    return ", ".join(parts)
