"""Lines of a table with intervals: one for each row and metric."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from radrl.evaluation import SummedMetrics
from radrl.evaluation.bootstrap import bootstrap_intervals
from radrl.evaluation.paired import PairedDifference, holm, paired_differences


def tabulate(
    rows: Mapping[str, SummedMetrics],
    patients: Sequence[str],
    *,
    reference: str,
    tested: Collection[str],
    bootstrap: Mapping[str, Any],
    seed: int,
) -> list[dict[str, Any]]:
    """Every row's metrics with their intervals over patients, and what tells it from the reference row.

    Args:
        rows: metrics by row, all over the same films.
        patients: the patient of each film.
        reference: the row that the others are tested against.
        tested: the rows that are.
        bootstrap: resamples and confidence.
        seed: of the resamples.

    Returns:
        A line a row and metric: row, metric, value, low, high; of the rows that are tested the difference
        from the reference row with its interval, p of the paired bootstrap and of approximate randomisation,
        and Holm's correction of the former over these rows. Ends and p are NaN where a resample leaves a row
        without a film, as it may where films are few.
    """
    options = {"resamples": bootstrap["resamples"], "level": bootstrap["confidence"], "seed": seed}
    tests = {
        name: paired_differences([rows[name]], [rows[reference]], patients, **options) for name in tested
    }
    found: list[dict[str, Any]] = []
    for name, family in rows.items():
        for metric, value in bootstrap_intervals([family], patients, **options).items():
            line = {"row": name, "metric": metric, "value": value.estimate}
            line |= {"low": value.low, "high": value.high}
            found.append(line | (_test(name, {row: own[metric] for row, own in tests.items()})))
    return found


def _test(name: str, tests: Mapping[str, PairedDifference]) -> dict[str, float | None]:
    """What one row's test says, beside those of the other rows on the same metric."""
    if name not in tests:
        return {}
    own, p = tests[name], [test.p_bootstrap for test in tests.values()]
    corrected = holm(p) if all(map(math.isfinite, p)) else [math.nan] * len(p)
    return {
        "difference": own.difference,
        "difference_low": own.low,
        "difference_high": own.high,
        "p": own.p_bootstrap,
        "p_randomisation": own.p_randomisation,
        "p_holm": corrected[list(tests).index(name)],
    }
