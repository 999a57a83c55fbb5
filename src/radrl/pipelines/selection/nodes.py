"""Nodes of the stage selection."""

from __future__ import annotations

import logging
from typing import Any, Final

import pandas as pd
import pyarrow.dataset as ds

from radrl.data import corpus as corpora
from radrl.pipelines.selection import subsets
from radrl.selections.balanced import balance, complete
from radrl.selections.full import full
from radrl.selections.random import random

logger = logging.getLogger(__name__)

_NO_FILM: Final = pd.DataFrame({"sample_id": pd.Series([], dtype=str)})


def make_subsets(
    corpus: ds.Dataset, labels: pd.DataFrame, settings: dict[str, Any], seed: int
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    """The subsets of training samples that need no policy, shown label by label on the terminal.

    Args:
        corpus: the samples, for their studies and which sections they have.
        labels: of the reference reports; only `balanced` reads them.
        settings: the section `selection`.
        seed: of the draws.

    Returns:
        `full`, `random` and `balanced`, each a column sample_id. Last, of the complete studies and of each
        subset its samples, studies and positive studies by label, and of `balanced` how even it is and could
        be (`radrl.algorithms.balanced.BalancedSubset`). Where `selection.balanced` is null, `balanced` is
        empty, and neither it nor the complete studies are counted. Of a corpus that is all test, as
        DEER's zero-shot evaluation has it, every subset is empty and nothing is counted.

    Raises:
        radrl.training.preflight.SettingsError: when fewer studies are complete than
            `selection.balanced.studies` asks for.
    """
    if not corpora.holds(corpus, "train"):
        logger.warning("the corpus has no film in split train: every subset is empty, and no arm can train")
        return _NO_FILM, _NO_FILM, _NO_FILM, {}
    known = subsets.training_films(corpus, labels)
    chosen = {"full": full(known), "random": random(known, seed, **settings["random"])}
    evenness: dict[str, Any] = {}
    if settings["balanced"] is not None:
        chosen["balanced"], evenness = balance(known, seed, **settings["balanced"])
        chosen = {"complete": known["sample_id"][complete(known)], **chosen}
    summary: dict[str, Any] = {name: subsets.count(known, ids) for name, ids in chosen.items()}
    subsets.show_counts(summary)
    if evenness:
        subsets.show_balance(evenness)
        summary["balance"] = evenness
    tables = {name: ids.to_frame().reset_index(drop=True) for name, ids in chosen.items()}
    return tables["full"], tables["random"], tables.get("balanced", _NO_FILM), summary
