"""The rule labeler against human-indexed Open-i reports, on a part put aside while rules were written.

Part: a report belongs to the part put aside when sha256 of its name, modulo 10, is below 3.

Mapping of the index's columns to observations: Effusion -> Pleural Effusion, Nodule or Mass -> Lung Lesion,
Pleural_Thickening or Fibrosis -> Pleural Other (CheXpert counts fibrosis there), the rest by name. Not
mapped: Infiltration (Lung Opacity is wider), Emphysema (no observation), Hernia (never set). Sparse, kept
out of the micro figure: Pneumonia, Mass (with Nodule), Fibrosis, Pleural_Thickening. The column Effusion
holds pericardial effusions too (every asserted one in the part that was read), so there they count.

Readings. Indexers note both sides of "A or B" and leave out what only "may" be; so the labels are read as
they do: alternatives positive, uncertain not counted. The default reading is held beside it, with uncertain
as positive and without. By default "A or B" is uncertain, as in CheXpert, so without uncertain what was
indexed as Atelectasis in "atelectasis or scarring" is missed: 54 of the 60 misses among the 212 indexed (the
other 6 are hedged), which keeps F1 below 0.9; with it the 36 that reports only hedge are false positives.

No Finding is held against the index's ``normal``.

Known differences of the index, counted against the labeler all the same: it leaves Cardiomegaly unset for
an "enlarged cardiac silhouette", and files nodular opacities as opacities.
"""

from __future__ import annotations

import csv
import hashlib
import os
import re
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pytest

from radrl.labelers.rules.labeler import RulesLabeler
from radrl.observations import INDEX, NO_FINDING, POSITIVE, UNCERTAIN

OPENI: Final = Path(os.environ.get("RADRL_SHARED", "")) / "data" / "openi"
pytestmark = pytest.mark.skipif(
    not os.environ.get("RADRL_SHARED") or not (OPENI / "gold_labels.csv").is_file(),
    reason="set RADRL_SHARED to a folder with data/openi",
)

COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "Cardiomegaly": ("Cardiomegaly",),
    "Atelectasis": ("Atelectasis",),
    "Pleural Effusion": ("Effusion",),
    "Lung Lesion": ("Nodule", "Mass"),
    "Edema": ("Edema",),
    "Consolidation": ("Consolidation",),
    "Pneumothorax": ("Pneumothorax",),
    "Pneumonia": ("Pneumonia",),
    "Pleural Other": ("Pleural_Thickening", "Fibrosis"),
}
SPARSE: Final = {"Pneumonia", "Pleural Other"}
PERICARDIAL: Final = re.compile(r"\bpericardial(?= effusion)", re.IGNORECASE)
PUT_ASIDE: Final = 3
"""Of ten parts."""

Found = dict[str, npt.NDArray[np.bool_]]


def is_put_aside(name: str) -> bool:
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 10 < PUT_ASIDE


def read_reports(put_aside: bool) -> tuple[list[str], Found]:
    """Texts of one part (findings and impression), and what the indexers found in them."""
    with (OPENI / "gold_labels.csv").open(encoding="utf-8", newline="") as file:
        gold = {row["filename"]: row for row in csv.DictReader(file)}
    with (OPENI / "indiana_reports.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if f"CXR{row['uid']}" in gold]
    rows = [row for row in rows if is_put_aside(f"CXR{row['uid']}") is put_aside]
    index = [gold[f"CXR{row['uid']}"] for row in rows]
    found = {
        name: np.array([any(entry[column] == "1" for column in columns) for entry in index])
        for name, columns in COLUMNS.items()
    }
    return [f"{row['findings']}\n\n{row['impression']}" for row in rows], found


def f1(pairs: list[tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]]) -> float:
    """F1 over (gold, predicted) pairs of boolean vectors, counts pooled."""
    hits = sum(int((gold & predicted).sum()) for gold, predicted in pairs)
    errors = sum(int((gold ^ predicted).sum()) for gold, predicted in pairs)
    return 2 * hits / (2 * hits + errors)


def figures(put_aside: bool, alternatives: int, positive: tuple[int, ...]) -> dict[str, float]:
    """F1 per observation and, under ``micro``, over those that are not sparse."""
    texts, gold = read_reports(put_aside)
    labeler = RulesLabeler(alternatives=alternatives)
    labels = labeler.label(texts)
    effusion = INDEX["Pleural Effusion"]
    labels[:, effusion] = labeler.label([PERICARDIAL.sub("pleural", text) for text in texts])[:, effusion]
    predicted = {name: np.isin(labels[:, INDEX[name]], positive) for name in gold}
    result = {name: f1([(gold[name], predicted[name])]) for name in gold}
    result["micro"] = f1([(gold[name], predicted[name]) for name in gold if name not in SPARSE])
    return result


def default_figures(put_aside: bool, positive: tuple[int, ...]) -> dict[str, float]:
    """`figures` in the default reading."""
    return figures(put_aside, UNCERTAIN, positive)


@pytest.fixture(scope="module")
def as_indexers_read() -> dict[str, float]:
    return figures(put_aside=True, alternatives=POSITIVE, positive=(POSITIVE,))


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("Cardiomegaly", 0.91),
        ("Atelectasis", 0.97),
        ("Pleural Effusion", 0.90),
        ("Lung Lesion", 0.70),
        ("Consolidation", 0.93),
        ("Pneumothorax", 0.88),
        ("micro", 0.90),
    ],
)
def test_f1_on_the_part_put_aside(as_indexers_read: dict[str, float], name: str, least: float) -> None:
    assert as_indexers_read[name] >= least


def test_f1_with_uncertain_as_positive() -> None:
    found = default_figures(put_aside=True, positive=(POSITIVE, UNCERTAIN))
    least = {"Cardiomegaly": 0.94, "Atelectasis": 0.93, "Pleural Effusion": 0.90, "micro": 0.86}
    assert {name: found[name] >= bound for name, bound in least.items()} == dict.fromkeys(least, True)


@pytest.mark.parametrize(("put_aside", "least"), [(False, 0.90), (True, 0.93)])
def test_atelectasis_with_uncertain_as_positive(put_aside: bool, least: float) -> None:
    assert default_figures(put_aside, positive=(POSITIVE, UNCERTAIN))["Atelectasis"] >= least


def test_f1_by_default() -> None:
    found = default_figures(put_aside=True, positive=(POSITIVE,))
    least = {"Cardiomegaly": 0.91, "Atelectasis": 0.79, "Pleural Effusion": 0.89, "micro": 0.84}
    assert {name: found[name] >= bound for name, bound in least.items()} == dict.fromkeys(least, True)


@pytest.mark.parametrize(
    ("put_aside", "counts"),
    [(False, (135, 101, 30, 4, 2, 26)), (True, (77, 51, 24, 2, 0, 10))],
)
def test_what_keeps_atelectasis_by_default_below_the_indexers(
    put_aside: bool, counts: tuple[int, ...]
) -> None:
    texts, found = read_reports(put_aside)
    indexed, column = found["Atelectasis"], INDEX["Atelectasis"]
    said = RulesLabeler().label(texts)[:, column]
    alternatives_positive = RulesLabeler(alternatives=POSITIVE).label(texts)[:, column]
    missed = indexed & (said != POSITIVE)
    assert set(said[missed]) == {UNCERTAIN}  # none is denied or overlooked
    alternatives = missed & (alternatives_positive == POSITIVE)
    assert counts == tuple(
        int(one.sum())
        for one in (
            indexed,
            indexed & (said == POSITIVE),
            alternatives,
            missed & ~alternatives,
            ~indexed & (said == POSITIVE),
            ~indexed & (said == UNCERTAIN),
        )
    )


def test_no_finding_is_what_the_index_calls_normal() -> None:
    with (OPENI / "gold_labels.csv").open(encoding="utf-8", newline="") as file:
        normal = {row["filename"]: row["normal"] == "1" for row in csv.DictReader(file)}
    with (OPENI / "indiana_reports.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if f"CXR{row['uid']}" in normal]
    texts = [f"{row['findings']}\n\n{row['impression']}" for row in rows]
    index = np.array([normal[f"CXR{row['uid']}"] for row in rows])

    def agreement(labeler: RulesLabeler) -> float:
        return f1([(index, labeler.label(texts)[:, NO_FINDING] == POSITIVE)])

    assert agreement(RulesLabeler()) >= 0.83
    assert agreement(RulesLabeler(other_findings=False)) < 0.66


def test_the_parts_divide_the_indexed_reports() -> None:
    sizes = [len(read_reports(put_aside)[0]) for put_aside in (False, True)]
    assert sizes == [1640, 722]
