"""The comparison as one self-contained page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import jinja2
import pandas as pd
import yaml

from radrl.evaluation.draws import Draw, generator
from radrl.observations import POSITIVE, UNCERTAIN
from radrl.pages import examples, run_notes
from radrl.pages.caveats import NOT_OURS, OVER_PATIENTS
from radrl.pages.numbers import p_value, spans
from radrl.pages.page import banner, environment
from radrl.pipelines.compare import plots, training_data
from radrl.pipelines.compare.agreement import per_label
from radrl.pipelines.compare.arms import films_digest
from radrl.pipelines.compare.cases import case
from radrl.pipelines.compare.cells import rows_of, title
from radrl.pipelines.compare.facts import facts_of
from radrl.pipelines.compare.few import too_few, too_short
from radrl.pipelines.compare.figures import svg
from radrl.pipelines.compare.histories import HistoryRead
from radrl.pipelines.compare.ranking import rank
from radrl.pipelines.compare.settings import Beside, ComparisonSettings
from radrl.pipelines.compare.summary import sentences
from radrl.pipelines.compare.systems import System
from radrl.pipelines.compare.table import short
from radrl.pipelines.compare.weighed import weighed_of
from radrl.pipelines.eval.nodes import describe_cleaning
from radrl.pipelines.eval.texts import LABEL_TEXTS

CONTENTS: Final = {
    "against": "Each arm against the reference arm",
    "arms": "Arms",
    "agreement": "Precision and recall",
    "labels": "Labels",
    "training": "Training",
    "diversity": "Diversity and selection",
    "cases": "Cases",
    "published": "Published on other data",
    "parameters": "Parameters",
}
"""The sections below the first screen, by the name that a link has."""

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
    agreement: pd.DataFrame,
    arm_reports: Mapping[str, pd.DataFrame],
    arm_histories: Mapping[str, pd.DataFrame],
    *,
    forest: str,
    curves: str | None,
    told: Mapping[str, HistoryRead],
    films: Mapping[str, Sequence[bytes]],
    beside: Beside,
    settings: ComparisonSettings,
) -> str:
    """Write the page.

    Args:
        comparison: a line a row and metric.
        pairs: a line a metric and pair of rows, with the error of their difference.
        agreement: a line a row, with its precision and recall.
        arm_reports: by arm, its reports with labels, over the same films in the same order.
        arm_histories: by arm that trained, its curve.
        forest: the table of arms, drawn, as an SVG element.
        curves: training curves as an SVG element; nothing where no arm trained.
        told: what the histories of the arms that trained say.
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
    text = _template().render(
        **_data(arm_reports, beside, settings),
        **_arms(comparison, beside.systems, settings),
        sentences=sentences(comparison, pairs, beside.over_seeds, settings.compare),
        ranking=rank(comparison, beside.over_seeds, settings.compare),
        few=too_few(comparison),
        short_training=too_short(own.updates for own in beside.trained.values()),
        caveat=OVER_PATIENTS,
        over_seeds=beside.over_seeds,
        forest=forest,
        curves=curves,
        told=told,
        **_agreement(agreement, arm_histories, settings.reference),
        labels=per_label(arm_reports, settings.eval["labelers"][0]),
        **_diversity(beside, arm_reports, arm_histories),
        trained=beside.trained,
        notes=run_notes.UNSEALED,
        arm_names=list(arm_reports),
        cases=[
            case(examples.show(sample_id, own, labelled, facts), alternatives=_alternatives(settings.labeler))
            for sample_id, own in films.items()
        ],
        weighed=weighed_of(arm_reports, list(films)),
        verdicts=examples.VERDICTS,
        contents=CONTENTS | {"against": f"Each arm against {settings.reference}"},
        published=_published(beside.published),
        parameters=yaml.safe_dump(settings.printed, sort_keys=False, allow_unicode=True, width=100),
    )
    return run_notes.sealed(f"{text}\n")


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
    rollouts = [own.rollouts for own in beside.trained.values() if own.updates]
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
        "seed": settings.seed,
        "films_digest": films_digest(any_arm),
        "rollouts": spans(rollouts, ",.0f") if rollouts else "none",
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
        "groups": {name: {"title": title(name), "metrics": own} for name, own in settings.groups.items()},
        "rows": rows_of(comparison, settings.arms, systems, settings.compare),
        "systems": systems,
        "not_ours": NOT_OURS,
        "findings": _findings(comparison, settings.compare),
        "read_off": bool((comparison["kind"] == "reader").any()),
        "short": short,
    }


def _agreement(
    agreement: pd.DataFrame, histories: Mapping[str, pd.DataFrame], reference: str
) -> dict[str, Any]:
    """Precision against recall: two views, and the rows of the table that explains them."""
    look = plots.looks(agreement, list(histories))
    shown = agreement[agreement["arm"].isin(look)].sort_values("f1", ascending=False, kind="stable")
    views = {
        name: svg(plots.scatter(agreement, look, least=least), name=f"agreement-{name}")
        for name, least in {"all": None, "near": reference}.items()
    }
    return {"views": views, "agreement": shown.to_dict("records"), "look": look}


def _diversity(
    beside: Beside, arm_reports: Mapping[str, pd.DataFrame], arm_histories: Mapping[str, pd.DataFrame]
) -> dict[str, Any]:
    """Which films the selections took, and how diverse what the arms wrote is."""
    known = [subset for subset in beside.chosen if subset.taken and min(subset.taken) < 1]
    return {
        "subsets": beside.chosen,
        "taken": svg(plots.taken(known), name="taken") if known else None,
        "written": training_data.written(arm_reports, arm_histories),
        "over_steps": training_data.OVER_STEPS,
    }


def _alternatives(labeler: Mapping[str, Any]) -> int:
    """The class of the two sides of an "or", as the rules that mark phrases take it."""
    asked = (labeler.get("rules") or {}).get("alternatives")
    return POSITIVE if asked == "positive" else UNCERTAIN


def _findings(comparison: pd.DataFrame, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the first metric says of each arm against the reference arm."""
    lines = comparison[(comparison["metric"] == settings["metrics"][0]) & (comparison["kind"] == "arm")]
    return [line for line in lines.to_dict("records") if line["arm"] != settings["reference"]]


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
