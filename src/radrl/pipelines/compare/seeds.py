"""What several seeds of the shipped study gave, beside a comparison that has one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import pandas as pd

from radrl.pages.numbers import p_value


def of_shipped(
    results: pd.DataFrame,
    metric: str,
    rows: Collection[str],
    *,
    corpus: str,
    settings: Callable[[str, str], str],
    reference: str,
) -> list[dict[str, Any]]:
    """What the shipped study gave over its seeds, of the rows that stand in this comparison too.

    Args:
        results: the table of `radrl study` on the shipped parameters, a line a metric, arm and run.
        metric: the one to tell of.
        rows: of this comparison, arms and others.
        corpus: digest of the parameters of its films and reports.
        settings: of a row and a metric, digest of what else decides it (`radrl.params.rows`).
        reference: the arm that this comparison tests against.

    Returns:
        Lines of the table in its order, without rows of other settings; none where films are others, another
        metric leads, the study tested against another arm or one of other settings, or it has one seed.
    """
    own = (results["metric"] == metric) & (results["corpus"] == corpus) & (results["seeds"] > 1)
    found = results[own & results["arm"].isin(list(rows))]
    found = found[found["settings"] == found["arm"].map(lambda row: settings(row, metric))]
    arms = found[found["kind"] == "arm"]
    tested_against = arms.loc[arms["difference"].isna(), "arm"].tolist()
    return found.to_dict("records") if tested_against == [reference] else []


def said(line: Mapping[str, Any], reference: str) -> str:
    """One arm's line in words.

    Args:
        line: of `of_shipped`.
        reference: the arm the others were tested against.

    Returns:
        Mean and spread, and for an arm that was tested the difference with its interval and Holm's p.
    """
    text = f"{line['mean']:.3f} ± {line['sd']:.3f}"
    if pd.isna(line["difference"]):
        return text
    interval = f"{line['difference_low']:+.3f} to {line['difference_high']:+.3f}"
    p = p_value(line["p_holm"])
    return f"{text}, {line['difference']:+.3f} ({interval}) from {reference}, p {p} by Holm"
