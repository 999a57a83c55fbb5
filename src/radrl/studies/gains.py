"""What arms gain over the reference arm on one split and on another, where runs score the same trainings.

Runs that differ in `generate.split` alone, as at home and at another hospital, train once: what they share
comes from DVC's cache. The gap is an arm's gain in the first of them minus its gain in another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any, Final

import pandas as pd

from radrl.pages.tables import effect, markdown_table, p_value
from radrl.params.schema import Params
from radrl.studies.tables import PooledRow, pooled

EXPLAINED: Final = """\
The same trainings, scored in run `{home}` and elsewhere. Gain: the difference from {reference}, with its
interval; in per cent of what {reference} has there. Gap: the gain in `{home}` minus that elsewhere, by the t
test of the seeds (of one seed by its patients), never surer than both sets of patients allow, which are taken
as independent, so too wide where the patients are the same; p by Holm over the arms of a metric."""
_KEY: Final = ["metric", "arm", "seed"]


def runs_by_split(runs: Mapping[str, Params]) -> tuple[str, ...]:
    """The runs that score the same trainings on other splits.

    Args:
        runs: of a study, with their parameters.

    Returns:
        All of them, in their order, where `generate.split` alone differs; else none.
    """
    splits = [one.generate.split for one in runs.values()]
    alike = [_but_split(one) for one in runs.values()]
    alone = len(set(splits)) == len(splits) > 1 and all(one == alike[0] for one in alike)
    return tuple(runs) if alone else ()


def _but_split(params: Params) -> dict[str, Any]:
    values = params.model_dump()
    return {**values, "generate": {**values["generate"], "split": None}}


def lines(comparisons: pd.DataFrame, runs: Sequence[str], *, level: float) -> pd.DataFrame:
    """Gains and gaps, a line a metric, arm and run but the first, unrounded.

    Args:
        comparisons: the experiments' comparisons below one another, with `run` and `seed`.
        runs: of `runs_by_split`; none give no line.
        level: coverage of the intervals.

    Returns:
        metric, arm, run, other_run; gain and other_gain with their intervals and their share of what the
        reference arm has (`relative`); gap with interval, p and p_holm.
    """
    arms = comparisons[(comparisons["kind"] == "arm") & comparisons["difference"].notna()]
    found: list[dict[str, Any]] = []
    for other in runs[1:]:
        gaps = pooled(_gaps(arms, runs[0], other, level), level)
        both = arms[arms["run"].isin([runs[0], other])]
        known = {(row.run, row.metric, row.arm): row for row in pooled(both, level)}
        for gap in gaps:
            here, there = (known[run, gap.metric, gap.arm] for run in (runs[0], other))
            about = {"metric": gap.metric, "arm": gap.arm, "run": runs[0], "other_run": other}
            elsewhere = {f"other_{name}": value for name, value in _gain(there).items()}
            found.append({**about, **_gain(here), **elsewhere, **_gap(gap)})
    return pd.DataFrame(found)


def section(found: pd.DataFrame, metrics: Sequence[str], reference: str) -> list[str]:
    """The paragraphs of a study's page.

    Args:
        found: of `lines`; none make none.
        metrics: the study's, in their order.
        reference: the arm that gains are over.
    """
    if found.empty:
        return []
    home = str(found["run"].iloc[0])
    header = ["metric", "arm", f"gain, {home}", "elsewhere", "gain there", "gap", "p, by Holm"]
    of_metric = [found[found["metric"] == metric] for metric in metrics]
    rows = [_cells(line) for own in of_metric for line in own.to_dict("records")]
    said = EXPLAINED.format(home=home, reference=reference)
    return [f"## Gains in {home} and elsewhere", said, markdown_table(header, rows)]


def _gaps(arms: pd.DataFrame, home: str, other: str, level: float) -> pd.DataFrame:
    """A comparison whose differences are the gaps; errors of two runs add up, as of other patients.

    Where the patients are the same, as of two drawn hospitals, intervals are wider than they have to be.
    """
    here, there = (arms[arms["run"] == run].set_index(_KEY) for run in (home, other))
    there = there.reindex(here.index)
    gap = here["difference"] - there["difference"]
    half = (
        pd.concat([_half_width(here), _half_width(there)], axis=1).pow(2).sum(axis=1, skipna=False).pow(0.5)
    )
    ends = {"difference": gap, "difference_low": gap - half, "difference_high": gap + half}
    quantile = NormalDist().inv_cdf((1 + level) / 2)
    p = [_two_sided(one * quantile, width) for one, width in zip(gap, half, strict=True)]
    return here.assign(**ends, p=p).reset_index()


def _two_sided(difference: float, error: float) -> float:
    return 2 * NormalDist().cdf(-abs(difference) / error) if error else float(difference == 0)


def _half_width(values: pd.DataFrame) -> pd.Series:
    return (values["difference_high"] - values["difference_low"]) / 2


def _gain(row: PooledRow) -> dict[str, float]:
    assert row.gain is not None  # of arms that have a difference
    gain, before = row.gain, row.mean - row.gain.difference
    relative = gain.difference / before if before else math.nan
    return {"gain": gain.difference, "low": gain.low, "high": gain.high, "relative": relative}


def _gap(row: PooledRow) -> dict[str, float | None]:
    assert row.gain is not None
    gap = row.gain
    return {"gap": gap.difference, "gap_low": gap.low, "gap_high": gap.high, "p": gap.p, "p_holm": row.p_holm}


def _cells(line: Mapping[Any, Any]) -> list[str]:
    here, there = (
        f"{effect(*(line[f'{which}{name}'] for name in ('gain', 'low', 'high')))}, "
        f"{line[f'{which}relative']:+.0%}"
        for which in ("", "other_")
    )
    gap = effect(line["gap"], line["gap_low"], line["gap_high"])
    return [line["metric"], line["arm"], here, line["other_run"], there, gap, p_value(line["p_holm"])]
