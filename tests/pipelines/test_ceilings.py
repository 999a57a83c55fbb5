"""The stage ceilings on a handful of films."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.dataset as ds
import pytest

from radrl import readers
from radrl.observations import OBSERVATIONS
from radrl.pipelines.ceilings import read_labels
from radrl.pipelines.label import label_reports

LABELER = {"name": "rules", "rules": {"alternatives": "uncertain", "other_findings": True}}
NETWORK = {
    "splits": ["pretrain", "train"],
    "films": 9,
    "channels": 4,
    "epochs": 1,
    "batch_size": 4,
    "learning_rate": 1e-3,
    "weight_decay": 0.01,
}
PROBE = {"splits": ["train"], "films": 100, "inverse_regularisation": 0.05}
SETTINGS = {"start": "sft", "network": NETWORK, "probe": PROBE}
SPLITS = ("pretrain", "train", "val", "test")
STUDIES = 6


@pytest.fixture
def run(make_corpus: Callable[..., ds.Dataset], policy_folder: Path) -> Callable[..., Any]:
    def read(
        splits: tuple[str, ...] = SPLITS, split: str = "test", seed: int = 0, **settings: Any
    ) -> tuple[pd.DataFrame, dict[str, dict[str, float]]]:
        corpus = make_corpus(splits, studies=STUDIES)
        labels = label_reports(corpus, Path(), LABELER)
        asked = SETTINGS | settings
        return read_labels(
            corpus, labels, policy_folder, policy_folder, asked, split, "rules", "float32", seed, 1, "cpu"
        )

    return read


def test_every_row_reads_every_scored_film(run: Callable[..., Any]) -> None:
    table, summary = run()
    assert table.columns.tolist() == ["sample_id", "row", *OBSERVATIONS]
    rows = table.groupby("row", sort=False)["sample_id"].agg(list)
    assert [*rows.index] == ["label_network", "tower_probe", "tower_probe_base"]
    assert all(films == [f"test{i}_1" for i in range(STUDIES)] for films in rows)
    assert {*table[list(OBSERVATIONS)].to_numpy().ravel()} <= {0, 1}
    assert {row: values["films"] for row, values in summary.items()} == {
        "label_network": 9,  # of twelve
        "tower_probe": STUDIES,
        "tower_probe_base": STUDIES,
    }
    assert [*summary["label_network"]][1:] == [
        "parameters",
        *(f"ce_rules_{mean}14_f1" for mean in ("sample", "macro", "micro")),
    ]
    # the tests have one policy for both
    same = [table.loc[table["row"] == row, list(OBSERVATIONS)] for row in rows.index[1:]]
    assert (same[0].to_numpy() == same[1].to_numpy()).all()


def test_same_seed_same_bytes(run: Callable[..., Any]) -> None:
    def stored() -> bytes:
        buffer = io.BytesIO()
        run()[0].to_parquet(buffer)
        return buffer.getvalue()

    assert stored() == stored()


def test_summary_is_the_score_of_the_table(run: Callable[..., Any], make_corpus: Any) -> None:
    table, summary = run(probe=None)
    known = label_reports(make_corpus(SPLITS, studies=STUDIES), Path(), LABELER)
    known = known[known["split"] == "test"]
    truth, read = (frame[list(OBSERVATIONS)].to_numpy() == 1 for frame in (known, table))
    expected = 2 * (truth & read).sum() / (truth.sum() + read.sum())
    assert summary["label_network"]["ce_rules_micro14_f1"] == pytest.approx(expected)
    assert json.loads(json.dumps(summary)) == summary


def test_thresholds_are_chosen_on_the_films_that_were_learned_from(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    own = readers.best_f1

    def best_f1(probabilities: Any, targets: Any) -> Any:
        seen.append(targets)
        return own(probabilities, targets)

    monkeypatch.setattr(readers, "best_f1", best_f1)
    run(probe=None, network=NETWORK | {"splits": ["train"], "films": 100})
    # the fixtures' reports: effusion, cardiomegaly and edema, none, hedged, atelectasis, a pacemaker
    (targets,) = seen
    assert targets.shape == (STUDIES, 14)
    assert targets[0, OBSERVATIONS.index("Pleural Effusion")]
    assert targets[5, OBSERVATIONS.index("Support Devices")]


def test_films_are_drawn_by_the_seed(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from radrl.data import corpus as corpora

    asked: list[list[str]] = []
    own = corpora.Films

    def films(corpus: ds.Dataset, *, sample_ids: list[str]) -> Any:
        asked.append(sample_ids)
        return own(corpus, sample_ids=sample_ids)

    monkeypatch.setattr(corpora, "Films", films)
    for seed in (0, 0, 1):
        run(seed=seed, probe=None, network=NETWORK | {"films": 5})
    learned = asked[::2]
    assert learned[0] == learned[1] != learned[2]
    order = [f"{split}{i}_1" for split, i in itertools.product(("pretrain", "train"), range(STUDIES))]
    assert [sorted(ids, key=order.index) for ids in learned] == learned
    assert {len(ids) for ids in learned} == {5}
    assert asked[1] == [f"test{i}_1" for i in range(STUDIES)]


def test_a_corpus_without_the_split_pretrain_is_learned_from_train_alone(run: Callable[..., Any]) -> None:
    assert run(splits=("train", "test"), probe=None)[1]["label_network"]["films"] == STUDIES


def test_no_split_to_learn_from_is_named_with_those_there_are(run: Callable[..., Any]) -> None:
    with pytest.raises(
        ValueError, match=r"ceilings\.network\.splits: .* pretrain or train \(it has test, val\)"
    ):
        run(splits=("val", "test"))


def test_a_study_without_a_cold_start_has_the_base_policys_tower_alone(run: Callable[..., Any]) -> None:
    assert [*run(start="base", network=None)[1]] == ["tower_probe_base"]


def test_nothing_asked_gives_an_empty_table(
    run: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    table, summary = run(network=None, probe=None)
    assert (len(table), summary, capsys.readouterr().out) == (0, {}, "")
    stored = io.BytesIO()
    table.to_parquet(stored)
    again = pd.read_parquet(stored)
    assert again.columns.tolist() == ["sample_id", "row", *OBSERVATIONS]


def test_it_prints_a_line_a_row(run: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> None:
    run()
    printed = capsys.readouterr().out
    assert all(f"\n{row} " in printed for row in ("label_network", "tower_probe", "tower_probe_base"))
