"""Subsets of the training films: the films as selections see them, and what subsets hold, label by label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd
import pyarrow.dataset as ds
from rich.console import Console

from radrl.data import corpus as corpora
from radrl.observations import OBSERVATIONS, POSITIVE
from radrl.process.terminal import new_table, number

COLUMNS: Final = ("sample_id", "study_id", "patient_id", "findings", "impression", "report")


def training_films(corpus: ds.Dataset, labels: pd.DataFrame) -> pd.DataFrame:
    """What is known of the training films without a look at them.

    Args:
        corpus: the films.
        labels: of the reference reports.

    Returns:
        `COLUMNS`, and a column of class indices for each observation.
    """
    samples = corpora.read(corpus, split="train", columns=list(COLUMNS))
    return samples.merge(labels[["sample_id", *OBSERVATIONS]], on="sample_id", validate="one_to_one")


def count(known: pd.DataFrame, chosen: pd.Series) -> dict[str, int]:
    """Count a subset.

    Args:
        known: sample_id, study_id and a column of class indices an observation.
        chosen: sample_ids of the subset.

    Returns:
        Its samples and studies, and its positive studies by label.
    """
    samples = known[known["sample_id"].isin(chosen)]
    studies = samples.drop_duplicates("study_id")
    positive = {name: int((studies[name] == POSITIVE).sum()) for name in OBSERVATIONS}
    return {"samples": len(samples), "studies": len(studies)} | positive


def show_counts(subsets: Mapping[str, Mapping[str, int]]) -> None:
    """Print the positive studies of each subset by label.

    Args:
        subsets: by name, of `count`.
    """
    table = new_table("studies that are positive for", *subsets)
    for name in OBSERVATIONS:
        table.add_row(name, *(number(row[name]) for row in subsets.values()))
    table.add_row("labels a study", *(number(_density(row)) for row in subsets.values()), style="dim")
    for name in ("studies", "samples"):
        table.add_row(name, *(number(row[name]) for row in subsets.values()), style="bold")
    console = Console()
    console.print()
    console.print(table)


def _density(row: Mapping[str, int]) -> float:
    return sum(row[name] for name in OBSERVATIONS) / row["studies"]


def show_balance(balance: Mapping[str, Any]) -> None:
    """Print how even the balanced subset is, and could be.

    Args:
        balance: of `radrl.pipelines.selection.make_subsets`.
    """
    verdict = "proven best" if balance["proven"] else "not proven best, the search ran out of nodes"
    Console().print(
        f"balanced, {verdict}:\n"
        f"  each label in {balance['level']} studies or all there are; asked for {balance['goal']}, "
        f"bound {balance['level_bound']}\n"
        f"  no label in more than {balance['peak']}; bound {balance['peak_bound']}\n"
        f"  {balance['positives']} positives in all; bound {balance['positives_bound']}"
    )
