"""Nodes of the stage own_selection."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow.dataset as ds

from radrl.parts.find import find
from radrl.pipelines.selection import subsets
from radrl.pipelines.selection.subsets import training_films
from radrl.training.preflight import SettingsError


def choose_films(
    corpus: ds.Dataset, labels: pd.DataFrame, settings: dict[str, Any] | None, seed: int, *, name: str
) -> pd.DataFrame:
    """The subset by one selection of `selection.own`, shown label by label beside all films.

    Args:
        corpus: the films.
        labels: of the reference reports.
        settings: its section.
        seed: of the study.
        name: what it goes by.

    Returns:
        A column sample_id, in the order that it gives.

    Raises:
        radrl.parts.find.PartError: when it cannot be had.
        SettingsError: when it gives no film, one twice, or one that is none.
    """
    films = training_films(corpus, labels)
    rng = np.random.default_rng([seed, *name.encode()])
    part = find("selection", name, settings)
    chosen = pd.Series(list(part.make(settings or {}, films=films, rng=rng, seed=seed)), dtype=object)
    _require_films(chosen, films["sample_id"], name)
    subsets.show_counts(
        {"full": subsets.count(films, films["sample_id"]), name: subsets.count(films, chosen)}
    )
    return pd.DataFrame({"sample_id": chosen.astype(films["sample_id"].dtype)})


def _require_films(chosen: pd.Series, known: pd.Series, name: str) -> None:
    unknown, twice = chosen[~chosen.isin(known)], chosen[chosen.duplicated()]
    problem = "no film" if chosen.empty else None
    if len(unknown):
        problem = f"{unknown.iloc[0]!r}, which is no training film's sample_id"
    elif len(twice):
        problem = f"the film {twice.iloc[0]} twice"
    if problem:
        raise SettingsError(
            f"selection.own.{name} gives {problem}; let it give sample_ids of `films`, each once"
        )
