"""The instructions of the samples of a split, with what the corpus knows of each study.

A prior is the report of the patient's last study before this one: in the corpus, in the same split, by when
the studies were made. So no report crosses from one split into another, neither into training nor out of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pandas as pd
import pyarrow.dataset as ds

from radrl.data import corpus as corpora
from radrl.data.admission import CONTEXT
from radrl.reports import prompts

_OF_PRIOR: Final = ("patient_id", "study_id", "report")


def of_split(
    corpus: ds.Dataset, split: str, template: str, *, sample_ids: Sequence[str] | None = None
) -> str | list[str]:
    """The instructions of a split's samples.

    Args:
        corpus: the shards.
        split: whose samples; priors are looked for among all of them.
        template: the instruction (`radrl.reports.prompts`).
        sample_ids: the samples that are asked for, in this order; nothing for all in that of
            `radrl.data.corpus.read`.

    Returns:
        The instruction itself where it has no place, else one a sample.

    Raises:
        ValueError: the corpus lacks a column that a place needs.
        KeyError: the split lacks a sample.
    """
    names = dict.fromkeys(place.name for place in prompts.places(template))
    if not names:
        return prompts.fill(template, {})
    frame = _read(corpus, split, tuple(names))
    columns = [priors(frame) if name == "prior" else frame[name] for name in names]
    texts = [
        prompts.fill(template, dict(zip(names, map(_plain, values), strict=True)))
        for values in zip(*columns, strict=True)
    ]
    if sample_ids is None:
        return texts
    by_id = dict(zip(frame["sample_id"], texts, strict=True))
    return [by_id[sample_id] for sample_id in sample_ids]


def priors(frame: pd.DataFrame) -> pd.Series:
    """The report of the last study before each, of the same patient.

    Args:
        frame: of one split, a row a sample: patient_id, study_id, report, and taken, a number that grows from
            one study of the patient to the next, or null. A study is as old as its first film.

    Returns:
        By the index of `frame` the report, or null: for a patient's first study and where it is not known
        when a study was made. Of two studies of one moment neither is before the other.
    """
    first = frame.groupby("study_id")["taken"].transform("min")
    known = frame.assign(taken=first).dropna(subset="taken").astype({"taken": "int64"})
    known = known.sort_values("taken", kind="stable")
    found = pd.merge_asof(
        known[["patient_id", "taken"]].reset_index(names="place"),
        known[["patient_id", "taken", "report"]].drop_duplicates(["patient_id", "taken"], keep="last"),
        on="taken",
        by="patient_id",
        allow_exact_matches=False,
    )
    return found.set_index("place")["report"].reindex(frame.index)


def _read(corpus: ds.Dataset, split: str, names: Sequence[str]) -> pd.DataFrame:
    columns = {name: CONTEXT[name].name for name in names}
    for name, column in columns.items():
        if column not in corpus.schema.names:
            raise ValueError(
                f"a prompt has the place {{{name}}}, but the corpus has no column {column}; "
                f"name {name} in ingest.context of params.yaml, and run ingest again"
            )
    more = _OF_PRIOR if "prior" in names else ()
    return corpora.read(corpus, split=split, columns=["sample_id", *columns.values(), *more])


def _plain(value: Any) -> str | int | None:
    """A cell: pandas has NaN for null, and floats for whole numbers with a gap among them."""
    if value is None or value != value:
        return None
    return int(value) if isinstance(value, float) else value
