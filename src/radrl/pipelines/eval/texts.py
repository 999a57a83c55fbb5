"""The texts of a table of reports in the two forms in which metrics read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

from radrl.evaluation.clinical_efficacy import Gold, gold_of
from radrl.reports.cleaning import clean_once
from radrl.scoring.base import Texts

SIDES: Final = ("reference", "report")
LABEL_TEXTS: Final = {side: f"{side}_label_text" for side in SIDES}
"""By side, the column of what labelers, and all metrics but those of wording, read."""


def in_both_forms(targets: Sequence[str], originals: Sequence[str], settings: Mapping[str, Any]) -> Texts:
    """Texts as `eval.cleaning` and `eval.labels_of` have them scored.

    Args:
        targets: N texts as policies learn to write them, or wrote them.
        originals: the same as labelers read them in the corpus.
        settings: the section `eval`.
    """
    words = settings["max_report_words"]
    cleaned = [clean_once(text, settings["cleaning"], words) for text in targets]
    return Texts(cleaned, originals if settings["labels_of"] == "original" else cleaned)


def with_both_forms(reports: pd.DataFrame, settings: Mapping[str, Any]) -> pd.DataFrame:
    """A table of reports with its texts as they are scored.

    Args:
        reports: reference, reference_label_text and report among its columns.
        settings: the section `eval`.

    Returns:
        The table with the wording of both sides under `SIDES`, and what the others read under `LABEL_TEXTS`.
    """
    written = reports["report"].tolist()
    references = reports["reference"].tolist(), reports[LABEL_TEXTS["reference"]].tolist()
    for side, texts in {"reference": references, "report": (written, written)}.items():
        forms = in_both_forms(*texts, settings)
        reports = reports.assign(**{side: forms.wording, LABEL_TEXTS[side]: forms.clinical})
    return reports


def texts_of(reports: pd.DataFrame, side: str) -> Texts:
    """One side's texts of a table of `with_both_forms`.

    Args:
        reports: the table.
        side: one of `SIDES`.
    """
    return Texts(reports[side].tolist(), reports[LABEL_TEXTS[side]].tolist())


def label_columns(number: int, labeler: str) -> dict[str, str]:
    """The columns that hold a labeler's labels of a table of reports.

    Args:
        number: the labeler's place in `eval.labelers`.
        labeler: its name.

    Returns:
        By side; the first labeler's have no name behind them.
    """
    end = f"_{labeler}" if number else ""
    return {"reference": f"reference_labels{end}", "report": f"labels{end}"}


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
