"""Gold labels of the reports that are scored."""

from __future__ import annotations

import pandas as pd

from radrl.evaluation.gold import Gold, gold_of


def gold_of_reports(reports: pd.DataFrame) -> Gold | None:
    """Take the gold labels from a table of reports.

    Args:
        reports: one row a report; the column `gold` holds 14 class indices, or nothing.

    Returns:
        The labels, or nothing where no report has any or there is no such column.
    """
    if "gold" not in reports:
        return None
    there = reports["gold"].notna()
    return gold_of(row if known else None for row, known in zip(reports["gold"], there, strict=True))
