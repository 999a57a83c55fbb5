"""The comparison as one self-contained page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jinja2
import pandas as pd
import yaml

from radrl.evaluation.draws import Draw, generator
from radrl.labelers.rules.mentions import Mention, mentions
from radrl.observations import NEGATIVE, OBSERVATIONS, POSITIVE, UNCERTAIN
from radrl.pages import examples, run_notes
from radrl.pages.examples import Answer, Chip, Example
from radrl.pages.page import NOT_OURS, OVER_PATIENTS, banner, environment
from radrl.pages.tables import p_value, spans
from radrl.pipelines.compare import figures, training
from radrl.pipelines.compare.facts import read_facts, weigh_findings
from radrl.pipelines.compare.figures import svg
from radrl.pipelines.compare.inputs import ComparisonSettings, Diagnosis, PageContext, films_digest
from radrl.pipelines.compare.rows import System
from radrl.pipelines.compare.scores import f1_per_label
from radrl.pipelines.compare.summary import sentences, too_few_patients, too_few_updates
from radrl.pipelines.compare.tables import group_title, name_within_group, page_rows, rank_rows
from radrl.pipelines.scored_texts import LABEL_TEXTS, describe_cleaning

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
    told: Mapping[str, Diagnosis],
    films: Mapping[str, Sequence[bytes]],
    boxes: Mapping[str, Sequence[Mapping[str, Any]]],
    rollout_pages: Sequence[str],
    context: PageContext,
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
        boxes: by sample_id the places on the first film that its reference speaks of, as the corpus has them.
        rollout_pages: arms that have a page of their rollouts (`radrl.pipelines.compare.arm_pages`).
        context: what is told beside the arms' own results.
        settings: what the arms were compared by.

    Returns:
        The page's text.
    """
    # the chips of an example say what was read of its texts, so it has the form that was labelled
    labelled = {
        arm: frame.assign(**{side: frame[read] for side, read in LABEL_TEXTS.items()})
        for arm, frame in arm_reports.items()
    }
    facts = read_facts(labelled, settings.arms, list(films))
    text = _template().render(
        **_data(arm_reports, context, settings),
        **_arms(comparison, context.systems, settings),
        sentences=sentences(comparison, pairs, context.over_seeds, settings.compare),
        ranking=rank_rows(comparison, context.over_seeds, settings.compare),
        few=too_few_patients(comparison),
        short_training=too_few_updates(own.updates for own in context.trained.values()),
        caveat=OVER_PATIENTS,
        over_seeds=context.over_seeds,
        forest=forest,
        curves=curves,
        told=told,
        rollout_pages=rollout_pages,
        **_agreement(agreement, arm_histories, settings.reference),
        labels=f1_per_label(arm_reports, settings.eval["labelers"][0]),
        **_diversity(context, arm_reports, arm_histories),
        trained=context.trained,
        notes=run_notes.UNSEALED,
        arm_names=list(arm_reports),
        cases=[
            mark_case(
                examples.show(sample_id, own, labelled, facts), alternatives=_alternatives(settings.labeler)
            )
            for sample_id, own in films.items()
        ],
        boxes=boxes,
        weighed=weigh_findings(arm_reports, list(films)),
        verdicts=examples.VERDICTS,
        contents=CONTENTS | {"against": f"Each arm against {settings.reference}"},
        published=_published(context.published),
        parameters=yaml.safe_dump(settings.printed, sort_keys=False, allow_unicode=True, width=100),
    )
    return run_notes.sealed(f"{text}\n")


def _template() -> jinja2.Template:
    templates = environment()
    templates.filters["p"] = p_value
    templates.filters["signed"] = lambda value: f"{value:+.3f}".replace("-", "−")
    return templates.from_string(_TEMPLATE.read_text(encoding="utf-8"))


def _data(
    arm_reports: Mapping[str, pd.DataFrame], context: PageContext, settings: ComparisonSettings
) -> dict[str, Any]:
    """What the page says of the films and of who reads their labels."""
    any_arm = next(iter(arm_reports.values()))
    rollouts = [own.rollouts for own in context.trained.values() if own.updates]
    return {
        "banner": banner(context.ingest_summary),
        "about": {
            "ingest": context.ingest_summary,
            "labelers": settings.eval["labelers"],
            "cleaning": describe_cleaning(settings.eval),
            "labels_of": settings.eval["labels_of"],
            "labeler": context.labeler_report,
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
        "groups": {
            name: {"title": group_title(name), "metrics": own} for name, own in settings.groups.items()
        },
        "rows": page_rows(comparison, settings.arms, systems, settings.compare),
        "systems": systems,
        "not_ours": NOT_OURS,
        "findings": _findings(comparison, settings.compare),
        "read_off": bool((comparison["kind"] == "reader").any()),
        "short": name_within_group,
    }


def _agreement(
    agreement: pd.DataFrame, histories: Mapping[str, pd.DataFrame], reference: str
) -> dict[str, Any]:
    """Precision against recall: two views, and the rows of the table that explains them."""
    look = figures.row_looks(agreement, list(histories))
    shown = agreement[agreement["arm"].isin(look)].sort_values("f1", ascending=False, kind="stable")
    views = {
        name: svg(figures.draw_agreement(agreement, look, least=least), name=f"agreement-{name}")
        for name, least in {"all": None, "near": reference}.items()
    }
    return {"views": views, "agreement": shown.to_dict("records"), "look": look}


def _diversity(
    context: PageContext, arm_reports: Mapping[str, pd.DataFrame], arm_histories: Mapping[str, pd.DataFrame]
) -> dict[str, Any]:
    """Which films the selections took, and how diverse what the arms wrote is."""
    known = [subset for subset in context.selected_films if subset.taken and min(subset.taken) < 1]
    return {
        "subsets": context.selected_films,
        "taken": svg(figures.draw_selection_shares(known), name="taken") if known else None,
        "written": training.output_diversity(arm_reports, arm_histories),
        "over_steps": training.OVER_STEPS,
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


_WORST_FIRST: Final = ("wrong", "missed", "hedged", "right", "stated")


@dataclass(frozen=True, slots=True)
class Piece:
    """Some characters of a report.

    Args:
        text: the characters.
        verdict: of the findings they speak of; nothing for all other characters.
        says: the findings with their verdicts, in words.
    """

    text: str
    verdict: str = ""
    says: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """One report on a film.

    Args:
        arms: who wrote it, word for word; nobody for the reference.
        pieces: the report, whose texts joined give it.
        chips: its observations, held against the reference's.
        facts: as `Answer.facts`.
    """

    arms: Sequence[str]
    pieces: Sequence[Piece]
    chips: Sequence[Chip]
    facts: Sequence[Any] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """A film with all reports on it.

    Args:
        sample_id: its id.
        pictures: the films as data URIs.
        reference: the true report.
        readings: the generated ones, each once.
    """

    sample_id: str
    pictures: Sequence[str]
    reference: Reading
    readings: Sequence[Reading]


def mark_case(example: Example, *, alternatives: int) -> Case:
    """Mark the reports on a film, and tell a report that several arms wrote once.

    Args:
        example: the film and its reports, the reference first.
        alternatives: as `radrl.labelers.rules.mentions.mentions` takes it.

    Returns:
        The film.
    """
    reference, *answers = example.answers
    alike: dict[tuple[str, tuple[Any, ...]], list[Answer]] = {}
    for answer in answers:
        alike.setdefault((answer.text, tuple(map(str, answer.facts))), []).append(answer)
    readings = [
        Reading([str(one.arm) for one in own], _marked(own[0], alternatives), own[0].chips, own[0].facts)
        for own in alike.values()
    ]
    shown = Reading([], _marked(reference, alternatives), reference.chips)
    return Case(example.sample_id, example.pictures, shown, readings)


def _marked(answer: Answer, alternatives: int) -> list[Piece]:
    verdicts = {chip.observation.removesuffix("?"): chip.verdict for chip in answer.chips}
    return mark_phrases(answer.text, mentions(answer.text, alternatives=alternatives), verdicts)


def mark_phrases(text: str, found: Sequence[Mention], verdicts: Mapping[str, str]) -> list[Piece]:
    """Cut a report at the phrases that speak of a finding with a verdict.

    Args:
        text: the report.
        found: its mentions, left to right.
        verdicts: right, hedged, missed, wrong or stated, by observation.

    Returns:
        Pieces whose texts, joined, are the report; a phrase within another one is not cut out of it.
    """
    pieces: list[Piece] = []
    at = 0
    for mention in found:
        own = _verdicts(mention, verdicts)
        if not own or mention.start < at:
            continue
        if text[at : mention.start]:
            pieces.append(Piece(text[at : mention.start]))
        worst = min(own.values(), key=_WORST_FIRST.index)
        says = ", ".join(f"{name}: {verdict}" for name, verdict in own.items())
        pieces.append(Piece(text[mention.start : mention.end], worst, says))
        at = mention.end
    return [*pieces, Piece(text[at:])] if text[at:] else pieces


def _verdicts(mention: Mention, verdicts: Mapping[str, str]) -> dict[str, str]:
    """Findings of a phrase with verdicts: a denied one counts as missed alone, an asserted one never."""
    names = [OBSERVATIONS[index] for index in mention.observations]
    own = {name: verdicts[name] for name in names if name in verdicts}
    denied = mention.said == NEGATIVE
    return {name: verdict for name, verdict in own.items() if (verdict == "missed") == denied}
