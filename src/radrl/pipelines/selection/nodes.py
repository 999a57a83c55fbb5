"""Nodes of the stage selection."""

from __future__ import annotations

import logging
from typing import Any

import pandas as pd
import pyarrow.dataset as ds

from radrl.data import corpus as corpora
from radrl.pipelines.selection import counts
from radrl.pipelines.selection.films import training_films
from radrl.selections.balanced import balance, complete
from radrl.selections.full import full
from radrl.selections.random import random

logger = logging.getLogger(__name__)


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
        be (`radrl.algorithms.balanced.BalancedSubset`). Of a corpus that is all test, as DEER's zero-shot
        evaluation has it, the subsets are empty and nothing is counted.

    Raises:
        radrl.training.preflight.SettingsError: when fewer studies are complete than
            `selection.balanced.studies` asks for.
    """
    if not corpora.holds(corpus, "train"):
        logger.warning("the corpus has no film in split train: every subset is empty, and no arm can train")
        nothing = pd.DataFrame({"sample_id": pd.Series([], dtype=str)})
        return nothing, nothing, nothing, {}
    known = training_films(corpus, labels)
    chosen, evenness = balance(known, seed, **settings["balanced"])
    subsets = {"full": full(known), "random": random(known, seed, **settings["random"]), "balanced": chosen}
    pools = {"complete": known["sample_id"][complete(known)], **subsets}
    summary = {name: counts.of(known, ids) for name, ids in pools.items()}
    counts.show(summary)
    counts.show_balance(evenness)
    every, drawn, even = (ids.to_frame().reset_index(drop=True) for ids in subsets.values())
    return every, drawn, even, summary | {"balance": evenness}
