"""The papers' rows beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pandas as pd

MASKING: Final[Mapping[str, str]] = {"random": "random", "tf_idf": "tfidf (rule)", "gradient": "gradient"}
"""Our strategies by the names of DEER's table 6."""
POOLS: Final[Mapping[str, str]] = {"full": "random (100%)", "ddsampling": "DDSampling (20%)"}
"""Our pools of films by the names of DEER's table 7, which has no random fifth."""


def deer(results: pd.DataFrame, table: int, method: str | None, metric: str) -> float | None:
    """A figure of DEER's.

    Args:
        results: the papers' results, a line a method and metric.
        table: its number.
        method: of the paper; nothing for a row that the paper does not have.
        metric: of the paper.

    Returns:
        The figure; nothing where the paper prints none.
    """
    rows = results[(results["paper"] == "DEER") & (results["table"].astype(str) == str(table))]
    found = rows.loc[(rows["method"] == method) & (rows["metric"] == metric), "value"]
    return float(found.iloc[0]) if len(found) else None
