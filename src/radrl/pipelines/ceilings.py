"""The stage ceilings: what reads labels off films and writes no text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import pyarrow.dataset as ds
from kedro.pipeline import Pipeline, node, pipeline
from rich.console import Console

from radrl.algorithms.f_measure import BoolArray, positives
from radrl.data import corpus as corpora
from radrl.evaluation.draws import Draw, generator
from radrl.observations import BLANK, OBSERVATIONS, POSITIVE
from radrl.process.terminal import new_table, number
from radrl.readers import NETWORK, PROBE, PROBE_OF_BASE

if TYPE_CHECKING:
    import torch

    from radrl.readers import Reader


AVERAGINGS: Final = ("sample", "macro", "micro")
"""Of the F1 over 14 labels in the summary."""


def read_labels(
    corpus: ds.Dataset,
    labels: pd.DataFrame,
    base: Path,
    start: Path,
    settings: dict[str, Any],
    split: str,
    labeler: str,
    dtype: str,
    seed: int,
    threads: int,
    device: str,
) -> tuple[pd.DataFrame, dict[str, dict[str, float]]]:
    """Let a network and linear probes learn the reference labels and read them off the scored films.

    How well they do is printed.

    Args:
        corpus: the films.
        labels: of the reference reports of all splits.
        base: the base policy's folder.
        start: folder of the policy that `ceilings.start` names.
        settings: the section `ceilings`.
        split: the films that are scored.
        labeler: who read the reference labels.
        dtype: of the policies' weights.
        seed: of the films that are learned from, and of the network.
        threads: of torch.
        device: where the network and the towers compute.

    Returns:
        sample_id, row and a class index for each observation, positive or blank, a line a row and film (none
        where the settings ask for nothing); and by row the films it learned from, its parameters and its F1.

    Raises:
        ValueError: when there is no film to learn from or to score, naming the parameter.
    """
    from radrl.process.devices import pin, place

    where = place(device)
    pin(threads, where)
    scored = _known(labels, [split], "generate.split")
    tables: list[pd.DataFrame] = []
    summary: dict[str, dict[str, float]] = {}
    for row, part, reader in _readers(settings, base, start, dtype=dtype, seed=seed, device=where):
        known = _known(labels, settings[part]["splits"], f"ceilings.{part}.splits")
        learned = _drawn(known, settings[part]["films"], seed)
        tables.append(_lines(row, scored["sample_id"], _read(reader, corpus, learned, scored)))
        counts = {"films": len(learned), "parameters": reader.parameters}
        summary[row] = counts | _scores(scored, tables[-1], labeler)
    print_summary(summary)
    nothing = _lines("", [], np.zeros((0, len(OBSERVATIONS)), dtype=bool))
    return pd.concat(tables or [nothing], ignore_index=True), summary


def _readers(
    settings: dict[str, Any], base: Path, start: Path, *, dtype: str, seed: int, device: torch.device
) -> Iterator[tuple[str, str, Reader[Any]]]:
    """Each row's name, part of the settings and reader, made in its turn: one policy is in memory at once."""
    from radrl.policy import folder
    from radrl.readers.network import LabelNetwork
    from radrl.readers.probe import TowerProbe

    if (own := settings["network"]) is not None:
        yield NETWORK, "network", LabelNetwork(own, seed=seed, device=device)
    if (own := settings["probe"]) is not None:
        if settings["start"] != "base":
            yield PROBE, "probe", TowerProbe(folder.load(start, dtype=dtype, device=device), own)
        yield PROBE_OF_BASE, "probe", TowerProbe(folder.load(base, dtype=dtype, device=device), own)


def _known(labels: pd.DataFrame, splits: Sequence[str], key: str) -> pd.DataFrame:
    """The labels of some splits, of which one at least has films."""
    found = labels[labels["split"].isin(splits)]
    if found.empty:
        there = ", ".join(sorted(labels["split"].unique()))
        raise ValueError(f"{key}: the corpus has no film in {' or '.join(splits)} (it has {there}); name one")
    return found


def _drawn(known: pd.DataFrame, at_most: int, seed: int) -> pd.DataFrame:
    drawn = generator(seed, Draw.FITTED_FILMS).permutation(len(known))[:at_most]
    return known.iloc[np.sort(drawn)]


def _read(reader: Reader[Any], corpus: ds.Dataset, learned: pd.DataFrame, scored: pd.DataFrame) -> BoolArray:
    """Let a reader learn, choose its thresholds, and read the scored films, shape (N, 14)."""
    from radrl.readers import best_f1

    def prepare(known: pd.DataFrame) -> Any:
        return reader.prepare(corpora.Films(corpus, sample_ids=known["sample_id"].tolist()))

    films, targets = prepare(learned), positives(learned[list(OBSERVATIONS)].to_numpy())
    reader.fit(films, targets)
    thresholds = best_f1(reader.probabilities(films), targets)
    return np.asarray(reader.probabilities(prepare(scored)) >= thresholds)


def _lines(row: str, sample_ids: Iterable[str], found: BoolArray) -> pd.DataFrame:
    classes = np.where(found, POSITIVE, BLANK).astype(np.int8)
    lines = pd.DataFrame(classes, columns=list(OBSERVATIONS))
    lines.insert(0, "sample_id", pd.Series([*sample_ids], dtype=str))
    lines.insert(1, "row", pd.Series([row] * len(lines), dtype=str))
    return lines


def _scores(known: pd.DataFrame, found: pd.DataFrame, labeler: str) -> dict[str, float]:
    from radrl.evaluation.clinical_efficacy import clinical_efficacy
    from radrl.evaluation.label_agreement import metric_name

    reference, hypothesis = (frame[list(OBSERVATIONS)].to_numpy() for frame in (known, found))
    metrics = clinical_efficacy(reference, hypothesis, labeler=labeler).metrics
    names = [metric_name(labeler, averaging, 14, "f1") for averaging in AVERAGINGS]
    return {name: metrics[name] for name in names}


def print_summary(summary: Mapping[str, Mapping[str, float]]) -> None:
    """Print each row's F1, films and parameters.

    Args:
        summary: of `radrl.pipelines.ceilings.read_labels`; nothing is printed of an empty one.
    """
    if not summary:
        return
    columns = list(next(iter(summary.values())))
    table = new_table("labels read off films", *columns)
    for row, values in summary.items():
        table.add_row(row, *(number(values[column]) for column in columns))
    console = Console()
    console.print()
    console.print(table)


def create_pipeline() -> Pipeline:
    """Films and labels, base policy, the policy of `ceilings.start` -> labels read off the scored films."""
    return pipeline(
        [
            node(
                read_labels,
                {
                    "corpus": "corpus",
                    "labels": "labels",
                    "base": "base_policy",
                    "start": "start",
                    "settings": "params:ceilings",
                    "split": "params:generate.split",
                    "labeler": "params:labeler.name",
                    "dtype": "params:policy.dtype",
                    "seed": "params:seed",
                    "threads": "params:threads",
                    "device": "params:device",
                },
                ["ceilings", "ceilings_summary"],
                name="read_labels",
            )
        ]
    )
