"""The comparison as one self-contained page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import jinja2
import numpy as np
import pandas as pd
import yaml

from radrl.evaluation.clinical_efficacy import clinical_efficacy
from radrl.evaluation.draws import Draw, generator
from radrl.evaluation.gold import GOLD
from radrl.pages import examples
from radrl.pages.caveats import NOT_OURS, OVER_PATIENTS
from radrl.pages.numbers import p_value
from radrl.pages.page import banner, environment
from radrl.pipelines.compare.facts import facts_of
from radrl.pipelines.compare.ranking import rank
from radrl.pipelines.compare.rows import CEILING, TRIVIAL
from radrl.pipelines.compare.settings import Beside, ComparisonSettings
from radrl.pipelines.compare.summary import sentences
from radrl.pipelines.compare.systems import KIND as SYSTEM
from radrl.pipelines.compare.systems import System
from radrl.pipelines.compare.table import mark, short
from radrl.pipelines.eval.nodes import describe_cleaning
from radrl.pipelines.eval.texts import LABEL_TEXTS
from radrl.readers.names import READERS
from radrl.storage.cpu_seconds import minutes
from radrl.training.watching.diagnosis import Finding

FAMILIES: Final = {
    "ce": "Clinical efficacy: agreement of labels, read by the labeler",
    "ce_gold": "Clinical efficacy against gold labels, the generated reports read by the labeler",
    "nlg": "Overlap of words",
    "nlg_meteor": "Overlap of words, their stems and synonyms (METEOR)",
    "radgraph_rules": "Agreement of entities and relations, found by rules in RadGraph's place",
    "green_rules": "Errors counted by rules in GREEN's place",
    "radgraph": "Agreement of entities and relations, found by RadGraph",
    "green": "Errors counted by GREEN's judge",
    "radeval": "RadEval's metrics",
}
"""What a family of metrics says, by its name."""

_TEMPLATE: Final = Path(__file__).with_name("page.html.j2")


def draw_films(arms: Mapping[str, pd.DataFrame], *, count: int, seed: int) -> list[str]:
    """Choose films at random, so that nobody chooses the best ones.

    Args:
        arms: by arm, its reports, all over the same films in the same order.
        count: how many; all where there are fewer.
        seed: decides.

    Returns:
        Film ids, in the order of the table.
    """
    films = next(iter(arms.values()))["sample_id"]
    chosen = generator(seed, Draw.SHOWN_FILMS).choice(len(films), size=min(count, len(films)), replace=False)
    return [films.iloc[i] for i in sorted(chosen)]


def render(
    comparison: pd.DataFrame,
    pairs: pd.DataFrame,
    arm_reports: Mapping[str, pd.DataFrame],
    *,
    forest: str,
    curves: str | None,
    diagnoses: Mapping[str, Sequence[Finding]],
    films: Mapping[str, Sequence[bytes]],
    beside: Beside,
    settings: ComparisonSettings,
) -> str:
    """Write the page.

    Args:
        comparison: a line a row and metric.
        pairs: a line a metric and pair of rows, with the error of their difference.
        arm_reports: by arm, its reports with labels, over the same films in the same order.
        forest: the table of arms, drawn, as an SVG element.
        curves: training curves as an SVG element; nothing where no arm trained.
        diagnoses: what the histories of the arms that trained say.
        films: the films to show, as PNG, by sample_id: one, or all of a study.
        beside: what is told beside the arms' own results.
        settings: what the arms were compared by.

    Returns:
        The page's text.
    """
    # the chips of an example say what was read of its texts, so it has the form that was labelled
    labelled = {
        arm: frame.assign(**{side: frame[read] for side, read in LABEL_TEXTS.items()})
        for arm, frame in arm_reports.items()
    }
    facts = facts_of(labelled, settings.arms, list(films))
    return _template().render(
        **_data(arm_reports, beside, settings),
        **_arms(comparison, beside.systems, settings),
        sentences=sentences(comparison, pairs, beside.over_seeds, settings.compare),
        ranking=rank(comparison, beside.over_seeds, settings.compare),
        caveat=OVER_PATIENTS,
        over_seeds=beside.over_seeds,
        forest=forest,
        curves=curves,
        diagnoses=diagnoses,
        labels=_labels(arm_reports, settings.eval["labelers"][0]),
        arm_names=list(arm_reports),
        examples=[examples.show(sample_id, own, labelled, facts) for sample_id, own in films.items()],
        verdicts=examples.VERDICTS,
        published=_published(beside.published),
        cpu=minutes(beside.cpu_seconds),
        parameters=yaml.safe_dump(settings.printed, sort_keys=False, allow_unicode=True, width=100),
    ) + "\n"  # fmt: skip


def _template() -> jinja2.Template:
    templates = environment()
    templates.filters["p"] = p_value
    templates.filters["signed"] = lambda value: f"{value:+.3f}".replace("-", "−")
    return templates.from_string(_TEMPLATE.read_text(encoding="utf-8"))


def _data(
    arm_reports: Mapping[str, pd.DataFrame], beside: Beside, settings: ComparisonSettings
) -> dict[str, Any]:
    """What the page says of the films and of who reads their labels."""
    any_arm = next(iter(arm_reports.values()))
    return {
        "banner": banner(beside.ingest_summary),
        "about": {
            "ingest": beside.ingest_summary,
            "labelers": settings.eval["labelers"],
            "cleaning": describe_cleaning(settings.eval),
            "labels_of": settings.eval["labels_of"],
            "labeler": beside.labeler_report,
        },
        "counts": {"films": len(any_arm), "patients": any_arm["patient_id"].nunique()},
    }


def _arms(
    comparison: pd.DataFrame, systems: Mapping[str, System], settings: ComparisonSettings
) -> dict[str, Any]:
    """The table of arms, and what it finds."""
    level = settings.compare["bootstrap"]["confidence"]
    return {
        "settings": settings.compare,
        "level": f"{level:.0%}",
        "alpha": f"{1 - level:.2g}",
        "groups": {name: {"title": _title(name), "metrics": own} for name, own in settings.groups.items()},
        "rows": _rows(comparison, settings.arms, systems, settings.compare),
        "systems": systems,
        "not_ours": NOT_OURS,
        "findings": _findings(comparison, settings.compare),
        "read_off": bool((comparison["kind"] == "reader").any()),
        "short": short,
    }


def _rows(
    comparison: pd.DataFrame,
    arms: Mapping[str, Any],
    systems: Mapping[str, System],
    settings: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """The table of arms: a row an arm, a cell a metric with its interval's place on the column's scale."""
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
        what = systems[str(name)].said if kind == SYSTEM else _what(str(name), arms)
        rows.append({"name": name, "kind": kind, "what": what, "cells": cells})
    return rows


def _title(group: str) -> str:
    if not group.startswith("ce_"):
        return FAMILIES.get(group, group)
    labeler = group.removeprefix("ce_")
    family = "ce_gold" if labeler.endswith(GOLD) else "ce"
    return f"{FAMILIES[family]} {labeler.removesuffix(GOLD).replace('_', ' ')}"


def _what(name: str, arms: Mapping[str, Any]) -> str:
    """What a row is, in a few words."""
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


def _findings(comparison: pd.DataFrame, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the first metric says of each arm against the reference arm."""
    lines = comparison[(comparison["metric"] == settings["metrics"][0]) & (comparison["kind"] == "arm")]
    return [line for line in lines.to_dict("records") if line["arm"] != settings["reference"]]


def _labels(arms: Mapping[str, pd.DataFrame], labeler: str) -> list[dict[str, Any]]:
    """F1 per observation and arm, the stricter reading, most frequent observation first."""
    scores = {
        arm: clinical_efficacy(
            np.stack(frame["reference_labels"].to_list()),
            np.stack(frame["labels"].to_list()),
            labeler=labeler,
        ).per_label
        for arm, frame in arms.items()
    }
    by_observation: dict[str, dict[str, Any]] = {}
    for arm, rows in scores.items():
        for row in rows:
            if not row.uncertain_as_positive:
                entry = by_observation.setdefault(row.observation, {"support": row.support, "arms": {}})
                entry["arms"][arm] = row
    found = [{"observation": name, **entry} for name, entry in by_observation.items()]
    return sorted(found, key=lambda entry: -entry["support"])


def _published(results: pd.DataFrame) -> list[dict[str, Any]]:
    """The papers' tables: one a paper, table, data set and protocol; a row a method, a column a metric."""
    results = results.fillna({"rl_train_size": "–"}).replace({"rl_train_size": {"-": "–"}})
    tables = []
    for key, lines in results.groupby(["paper", "table", "dataset", "protocol"], sort=False):
        metrics = list(dict.fromkeys(lines["metric"]))
        methods = [
            {"method": method, "size": size, "values": dict(zip(own["metric"], own["value"], strict=True))}
            for (method, size), own in lines.groupby(["method", "rl_train_size"], sort=False)
        ]
        names = dict(zip(("paper", "table", "dataset", "protocol"), key, strict=True))
        tables.append(names | {"metrics": metrics, "methods": methods})
    return tables
