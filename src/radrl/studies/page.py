"""A study's page: what was run, the arms over all seeds beside the paper's rows, and each seed by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pandas as pd

from radrl.pages.page import DRAWN_FILMS, NOT_OURS, ONE_SEED_STUDY, SHARED_FILMS
from radrl.pages.tables import effect, markdown_table, p_value
from radrl.studies.budget import Budget, Place, unequal
from radrl.studies.claims import page as claims_page
from radrl.studies.published import OtherRows, Published
from radrl.studies.tables import Gain, PooledRow, pooled, share_films, without_repeats

POOLING: Final = """\
Interval and p come from the t test of the S seeds' differences, whose spread is held against that of the
other arms (`radrl.evaluation.seed_variance`), and are never surer than the seeds' patients allow
(`radrl.evaluation.pooling`)."""
FAMILY: Final = """\
Holm's correction runs over the arms{runs} within a metric; rows that need no model are no hypotheses, and
beat an arm when their mean is higher."""
FAMILY_OF_ROWS: Final = "Holm's correction runs over the rows{runs} within a metric."


@dataclass(frozen=True, slots=True)
class Described:
    """What a page says besides the numbers.

    Args:
        title: the study's.
        recipe: the params file it starts from.
        changes: keys laid over it for all runs.
        variations: by run, keys laid over it for that run.
        source: of the films and reports, as in `ingest.source`.
        drawn: whether the films are phantoms, be the reports what they may.
        corpus: digest of the parameters of films and reports, in every line of the CSV.
        command: what makes the page.
        metrics: in their order.
        reference: the arm the others are tested against.
        level: coverage of the intervals.
        budgets: by run and arm; none where the rows are no arms.
        published: the paper's rows, where there are any.
        about: what the rows are, where they are no arms.
        settings: by run, of a row and a metric the digest of what else decides it (`radrl.params.rows`), in
            every line of the CSV; none where the rows are no arms.
        elsewhere: by commit, the experiments that ran on other machines with its code.
    """

    title: str
    recipe: str
    changes: Mapping[str, Any]
    variations: Mapping[str, Mapping[str, Any]]
    source: str
    drawn: bool
    corpus: str
    command: str
    metrics: Sequence[str]
    reference: str
    level: float
    budgets: Mapping[Place, Budget]
    published: Published | None
    about: str | None = None
    settings: Mapping[str, Callable[[str, str], str]] = field(default_factory=dict)
    elsewhere: Mapping[str, Sequence[str]] = field(default_factory=dict)


def page(
    comparisons: pd.DataFrame,
    study: Described,
    claims: pd.DataFrame | None = None,
    pictures: Sequence[str] = (),
    levelled: Sequence[str] = (),
    spread: Sequence[str] = (),
    gains: Sequence[str] = (),
) -> str:
    """The whole page in Markdown.

    Args:
        comparisons: the experiments' comparisons below one another, with `run` and `seed`.
        study: what is said of them.
        claims: of `radrl.studies.claims.page.lines`; nothing for a study that asks nothing, or has one seed.
        pictures: paragraphs of `radrl.studies.figures.section`.
        levelled: paragraphs of `radrl.studies.levelling.section`.
        spread: paragraphs of `radrl.studies.spread.section`.
        gains: paragraphs of `radrl.studies.gains.section`.

    Returns:
        The text.

    Raises:
        ValueError: as `radrl.studies.tables.pooled`.
    """
    seeds = sorted(comparisons["seed"].unique())
    several = len(study.variations) > 1
    parts = [f"# {study.title}", *([DRAWN_FILMS] if study.drawn else []), _made(study, seeds)]
    parts += [
        f"Ran elsewhere, code of {commit[:10]}: {'; '.join(run)}." for commit, run in study.elsewhere.items()
    ]
    parts += _some(study.about)
    parts += [] if claims is None or claims.empty else claims_page.section(claims)
    parts += [*gains, *pictures]
    if study.budgets:
        parts += ["## Budget", _budget_table(study), *_some(unequal(study.budgets)), *_some(_drawn(study))]
    parts += levelled
    parts += [f"## Over {len(seeds)} seeds" if len(seeds) > 1 else f"## Seed {seeds[0]}"]
    parts += [
        POOLING if len(seeds) > 1 else ONE_SEED_STUDY,
        *([SHARED_FILMS] if len(seeds) > 1 and share_films(comparisons) else []),
        (FAMILY if study.budgets else FAMILY_OF_ROWS).format(runs=" of all runs" if several else ""),
    ]
    parts += [*_some(_beside(study)), _table(pooled(comparisons, study.level), study, len(seeds))]
    parts += spread
    if len(seeds) > 1:
        parts += ["## Seed by seed", _intervals(study), _seed_table(comparisons, study, seeds)]
    parts += _others(study)
    return "\n\n".join(parts) + "\n"


def table(comparisons: pd.DataFrame, study: Described) -> pd.DataFrame:
    """The same numbers unrounded, a line a metric, run and arm.

    Args:
        comparisons: as for `page`.
        study: as for `page`.

    Returns:
        The lines, of the study's metrics.
    """
    rows = [row for row in pooled(comparisons, study.level) if row.metric in study.metrics]
    lines = pd.DataFrame([_line(row, study) for row in rows])
    if not study.budgets:
        return lines.drop(columns=["beaten_by", "updates", "rollouts"])
    return lines.astype({"updates": "Int64", "rollouts": "Int64"})  # whole, though trivial rows have none


def _line(row: PooledRow, study: Described) -> dict[str, Any]:
    gain, budget = row.gain, study.budgets.get((row.run, row.arm))
    line: dict[str, Any] = {"metric": row.metric, "run": row.run, "arm": row.arm, "kind": row.kind}
    line |= {"seeds": row.seeds, "mean": row.mean, "sd": row.std}
    line |= {
        "difference": gain.difference if gain else None,
        "difference_low": gain.low if gain else None,
        "difference_high": gain.high if gain else None,
        "p": gain.p if gain else None,
        "p_holm": row.p_holm,
        "beaten_by": " ".join(row.beaten_by) or None,
        "updates": budget.updates if budget else None,
        "rollouts": budget.rollouts if budget else None,
        "corpus": study.corpus,
    }
    if row.run in study.settings:
        line["settings"] = study.settings[row.run](row.arm, row.metric)
    if study.published:
        place = (row.run, row.arm)
        value = study.published.values.get(place, {}).get(row.metric)
        known = value is not None
        line |= {"paper_row": study.published.rows.get(place) if known else None, "paper_value": value}
        line |= {"paper_difference": study.published.gains.get(place, {}).get(row.metric)}
    return line


def _made(study: Described, seeds: Sequence[int]) -> str:
    said = f"Made by `{study.command}` from the recipe `{study.recipe}`"
    if study.changes:
        said += f" with {_keys(study.changes)}"
    said += f"; seeds {', '.join(map(str, seeds))}; source `{study.source}`."
    lines = [f"- {name}: {_keys(own)}" for name, own in study.variations.items() if own]
    return "\n".join([said, "", "Runs:", "", *lines]) if lines else said


def _keys(values: Mapping[str, Any]) -> str:
    return ", ".join(f"`{key} = {value}`" for key, value in values.items())


def _budget_table(study: Described) -> str:
    header = ["arm", "starts from", "trains on", "updates", "rollouts", "films seen"]
    rows = [
        [arm, one.start, one.selection, one.length, one.sampled, one.films]
        for (_, arm), one in study.budgets.items()
    ]
    if study.published:
        header.append("paper's row")
        for row, place in zip(rows, study.budgets, strict=True):
            row.append(study.published.rows.get(place, "-"))
    return markdown_table(*_with_runs(header, rows, [run for run, _ in study.budgets], study))


def _drawn(study: Described) -> str | None:
    drawn = {one.drawn_before for one in study.budgets.values() if one.drawn_before}
    if not drawn:
        return None
    return (
        f"To choose its films an arm on ddsampling or most_diverse needs "
        f"{' or '.join(map(str, sorted(drawn)))} rollouts of every training film before it trains; these are "
        "not in the column."
    )


def _beside(study: Described) -> str | None:
    if study.published is None:
        return None
    beside = ", ".join(f"{theirs} beside `{ours}`" for ours, theirs in study.published.metrics.items())
    if any(study.published.gains.values()):
        beside += f"; in brackets its difference from the row beside {study.reference}"
    return (
        f"Column paper: {study.published.paper} ({beside}). "
        f"That is another quantity: {study.published.dataset}, the paper's own policy, "
        f"{study.published.protocol}. Here: source {study.source}, this study's policy and budget, and the "
        "protocol in the metric's name. Only direction and order of rows can be held against each other."
    )


def _others(study: Described) -> list[str]:
    """Other systems, and what the study leaves out, as the paper prints them."""
    if study.published is None or not study.published.others:
        return []
    said = (
        f"Not ours: as the paper prints them, measured on {study.published.dataset}. Nothing above was "
        "measured on these films or by this protocol, so no row here stands above or below one there."
    )
    return ["## Other rows, as published", said, *map(_published_table, study.published.others)]


def _published_table(other: OtherRows) -> str:
    metrics = list(dict.fromkeys(metric for row in other.rows.values() for metric in row))
    header = [f"{other.table} ({other.protocol})", *metrics]
    return markdown_table(
        header,
        [
            [name, *(_printed(row[metric]) if metric in row else "-" for metric in metrics)]
            for name, row in other.rows.items()
        ],
    )


def _printed(value: float) -> str:
    """With three decimals, or with the four that MRG-R1 prints."""
    return f"{value:.3f}" if round(value, 3) == value else f"{value:.4f}"


def _intervals(study: Described) -> str:
    return (
        f"Difference from {study.reference} with its {study.level:.0%} bootstrap interval over the seed's "
        "patients."
    )


def _table(rows: Sequence[PooledRow], study: Described, seeds: int) -> str:
    header = [
        "metric",
        "arm",
        f"mean ± sd, n = {seeds}" if seeds > 1 else "value",
        f"{'pooled ' if seeds > 1 else ''}difference from {study.reference} ({study.level:.0%} interval)",
        "p, by Holm",
        *(["beaten by"] if study.budgets else []),
    ]
    shown = without_repeats([row for metric in study.metrics for row in rows if row.metric == metric])
    cells = [_cells(row)[: len(header)] for row in shown]
    if study.published:
        header.append("paper")
        for row, own in zip(shown, cells, strict=True):
            own.append(_paper_cell(row, study.published))
    return markdown_table(*_with_runs(header, cells, [row.run for row in shown], study))


def _cells(row: PooledRow) -> list[str]:
    value = f"{row.mean:.3f}" if row.std is None else f"{row.mean:.3f} ± {row.std:.3f}"
    known = (row.gain.p, row.p_holm) if row.gain and row.p_holm is not None else ()
    p = ", ".join(map(p_value, known)) or "-"
    name = row.arm + (NOT_OURS if row.kind == "system" else "")
    return [row.metric, name, value, _gain_cell(row.gain), p, ", ".join(row.beaten_by) or "-"]


def _gain_cell(gain: Gain | None) -> str:
    return effect(gain.difference, gain.low, gain.high) if gain else "-"


def _paper_cell(row: PooledRow, published: Published) -> str:
    place = (row.run, row.arm)
    value = published.values.get(place, {}).get(row.metric)
    if value is None:
        return "-"
    gain = published.gains.get(place, {}).get(row.metric)
    return f"{value:.3f}" if gain is None else f"{value:.3f} ({gain:+.3f})"


def _seed_table(comparisons: pd.DataFrame, study: Described, seeds: Sequence[int]) -> str:
    """Each seed's difference from the reference arm; rows that need no model are left to the pooled table."""
    differing = comparisons[comparisons["difference"].notna() & (comparisons["kind"] == "arm")]
    rows, runs = [], []
    for metric in study.metrics:
        of_metric = differing[differing["metric"] == metric]
        for (run, arm), values in of_metric.groupby(["run", "arm"], sort=False):
            gains = [
                effect(line["difference"], line["difference_low"], line["difference_high"])
                for line in values.sort_values("seed").to_dict("records")
            ]
            rows.append([metric, str(arm), *gains])
            runs.append(str(run))
    header = ["metric", "arm", *(f"seed {seed}" for seed in seeds)]
    return markdown_table(*_with_runs(header, rows, runs, study))


def _with_runs(
    header: list[str], rows: list[list[str]], runs: Sequence[str], study: Described
) -> tuple[list[str], list[list[str]]]:
    """Put a column of runs before that of arms, where a study has several."""
    if len(study.variations) < 2:
        return header, rows
    at = header.index("arm")
    for row, run in zip(rows, runs, strict=True):
        row.insert(at, run)
    return [*header[:at], "run", *header[at:]], rows


def _some(text: str | None) -> list[str]:
    return [text] if text else []
