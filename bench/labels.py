"""How many reports a second the rule labeler reads, on one core.

    python bench/labels.py                                    # the 240 texts of docs/metric_checks.csv
    python bench/labels.py reports.csv --column findings      # any table with a header

The fastest of several rounds counts, in seconds of this process's time. Three ways: without the cache of
sentences, with an empty one, and with one that has seen the same reports.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

from radrl.labelers.rules.labeler import RulesLabeler

CHECKS = Path(__file__).resolve().parents[1] / "docs" / "metric_checks.csv"


def seconds(labeler: RulesLabeler, reports: list[str]) -> float:
    """Time of this process to label the reports."""
    start = time.process_time()
    labeler.label(reports)
    return time.process_time() - start


def main() -> None:
    """Print a line for each way."""
    parser = argparse.ArgumentParser(description="Reports a second by the rule labeler.")
    parser.add_argument("table", type=Path, nargs="?", default=CHECKS)
    parser.add_argument("--column", action="append", help="repeatable; default: reference and hypothesis")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with options.table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    columns = options.column or ["reference", "hypothesis"]
    reports = list(dict.fromkeys(row[column] for row in rows for column in columns))
    warm = RulesLabeler()
    warm.label(reports)
    ways = {
        "no cache": lambda: RulesLabeler(cache_size=0),
        "empty cache": RulesLabeler,
        "full cache": lambda: warm,
    }
    for name, labeler in ways.items():
        best = min(seconds(labeler(), reports) for _ in range(options.rounds))
        print(f"{name}: {len(reports) / best:,.0f} reports a second ({len(reports):,} texts)")


if __name__ == "__main__":
    main()
