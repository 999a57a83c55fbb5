"""The stage ingest from a source to corpus, quarantine and counts."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from kedro.io import DataCatalog, DatasetError, MemoryDataset
from kedro.runner import SequentialRunner

from radrl.datasets import ArrowShards, Workspace
from radrl.pipelines.ingest import create_pipeline

Ingest = Callable[..., tuple[pd.DataFrame, pd.DataFrame, dict[str, Any]]]


@pytest.fixture
def ingest(tmp_path: Path) -> Ingest:
    """Run the stage on a catalog of its own: corpus, quarantine, summary."""

    def run(settings: dict[str, Any], seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, Any]]:
        datasets: dict[str, Any] = {
            "corpus": ArrowShards(str(tmp_path / "corpus")),
            "ingestion": MemoryDataset(copy_mode="assign"),
            "quarantine": MemoryDataset(),
            "ingest_summary": MemoryDataset(),
            "ingest_workspace": Workspace(str(tmp_path / "workspace")),
            "params:ingest": MemoryDataset(settings),
            "params:seed": MemoryDataset(seed),
        }
        catalog = DataCatalog(datasets)
        SequentialRunner().run(create_pipeline(), catalog)
        corpus = catalog.load("corpus").to_table().to_pandas()
        return corpus, catalog.load("quarantine"), catalog.load("ingest_summary")

    return run


@pytest.fixture
def phantom(small: dict[str, Any]) -> dict[str, Any]:
    settings: dict[str, Any] = copy.deepcopy(small["ingest"])
    settings["phantom"] |= {
        "studies": {"pretrain": 4, "train": 12, "val": 3, "test": 5},
        "missing_findings": 0.0,
    }
    return settings | {"films_per_shard": 5}


def test_films_of_another_hospital_leave_those_of_home_as_they_are(
    ingest: Ingest, phantom: dict[str, Any], tmp_path: Path
) -> None:
    home, _, before = ingest(phantom)
    away = {"source": "phantom", "split": "test", "set": {"studies": {"test": 4}, "exposure": 0.05}}
    both, _, summary = ingest(phantom | {"away": away})
    apart = both["split"] == "away"
    pd.testing.assert_frame_equal(both[~apart].reset_index(drop=True), home)
    assert both[apart]["study_id"].nunique() == 4
    assert "away" not in before
    assert (summary["source"], summary["away"], summary["drawn"]) == ("phantom", "phantom", True)


def test_phantoms_become_a_corpus_of_all_splits(
    ingest: Ingest, phantom: dict[str, Any], tmp_path: Path
) -> None:
    corpus, quarantine, summary = ingest(phantom)
    assert corpus.groupby("split")["study_id"].nunique().to_dict() == {
        "pretrain": 4,
        "train": 12,
        "val": 3,
        "test": 5,
    }
    assert summary["input"] == summary["kept"] + summary["quarantined"]
    assert (summary["kept"], summary["quarantined"]) == (len(corpus), len(quarantine))
    assert len(list((tmp_path / "corpus").iterdir())) == -(-len(corpus) // 5)


def test_same_seed_same_bytes_and_another_seed_others(
    ingest: Ingest, phantom: dict[str, Any], tmp_path: Path, contents: Callable[[Path], dict[str, bytes]]
) -> None:
    ingest(phantom)
    first = contents(tmp_path / "corpus")
    ingest(phantom)
    assert contents(tmp_path / "corpus") == first
    ingest(phantom, seed=1)
    assert contents(tmp_path / "corpus") != first


def test_rows_of_a_table_are_kept_or_quarantined_with_the_reason(
    ingest: Ingest,
    small: dict[str, Any],
    films: Callable[..., list[bytes]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for number, film in enumerate(films(3)):
        (tmp_path / f"{number}.png").write_bytes(film)
    (tmp_path / "broken.png").write_bytes(films(1)[0][:99])
    table = pd.DataFrame(
        {
            "file": ["0.png", "1.png", "2.png", "broken.png", "gone.png"],
            "note": [
                "The lungs are clear.",
                "Left pleural effusion is seen.",
                "",
                "Some edema here.",
                "Some edema here.",
            ],
        }
    )
    table.to_csv(tmp_path / "notes.csv", index=False)
    none = dict.fromkeys(small["ingest"]["csv"]["columns"])
    settings = small["ingest"] | {
        "source": "csv",
        "target": "report",
        "max_quarantined_share": 0.7,
        "csv": {
            "path": str(tmp_path / "notes.csv"),
            "image_root": str(tmp_path),
            "columns": {**none, "image": "file", "report": "note"},
            "views": {},
        },
    }
    corpus, quarantine, summary = ingest(settings)
    assert corpus["report"].tolist() == ["The lungs are clear.", "Left pleural effusion is seen."]
    assert summary == {
        "source": "csv",
        "drawn": False,
        "input": 5,
        "kept": 2,
        "quarantined": 3,
        "samples": 2,
        "splits": corpus["split"].value_counts().to_dict(),
        "studies_kept": 2,
        "studies_quarantined": 0,
        "patients_in_two_splits": 0,
        "reasons": quarantine["reason"].value_counts().sort_index().to_dict(),
    }
    assert quarantine["reason"].nunique() == 3
    said = capsys.readouterr().out
    assert "kept 2 of 5 films (2 studies): " in said
    assert "refused 3 films (each in 02_intermediate/quarantine.csv):" in said
    assert all(f"  {reason}: 1 (" in said for reason in quarantine["reason"])


def test_context_is_counted_and_what_foretells_a_report_is_warned_of(
    ingest: Ingest, phantom: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Half of the studies are follow-ups, whose request names the finding that the report goes on with."""
    phantom["phantom"] |= {"follow_ups": 1.0, "hedge_share": 0.0, "prevalence": {"Pleural Effusion": 0.9}}
    phantom["phantom"]["studies"] = {"train": 60, "val": 3}
    corpus, _, summary = ingest(phantom | {"context": ["indication", "age", "prior"]})
    studies, context = corpus.drop_duplicates("study_id"), summary["context"]
    assert context["studies"] == context["age"] == 63
    assert context["indication"] == studies["indication"].notna().sum() < 63
    assert context["prior"] == (studies["taken"] > 0).sum() == 31  # 30 of train, one of val
    effusion = context["leaks"]["Pleural Effusion"]
    named = studies["indication"].str.contains("Follow-up of effusion", na=False)
    assert effusion["named"] == effusion["indications"] == named.sum() > 20
    (warning,) = context["warnings"]
    assert f"Pleural Effusion {effusion['named'] / effusion['reports']:.0%}" in warning
    assert warning in capsys.readouterr().out


def test_what_the_source_has_not_is_warned_of(
    ingest: Ingest, small: dict[str, Any], films: Callable[..., list[bytes]], tmp_path: Path
) -> None:
    (tmp_path / "0.png").write_bytes(films(1)[0])
    (tmp_path / "notes.csv").write_text("file,note\n0.png,The lungs are clear.\n")
    none = dict.fromkeys(small["ingest"]["csv"]["columns"])
    own = {"path": str(tmp_path / "notes.csv"), "image_root": str(tmp_path), "views": {}}
    settings = small["ingest"] | {
        "source": "csv",
        "target": "report",
        "csv": own | {"columns": {**none, "image": "file", "report": "note"}},
        "context": ["age"],
    }
    _, _, summary = ingest(settings)
    assert summary["context"]["age"] == 0
    assert "no study has what the place {age} of a prompt wants" in summary["context"]["warnings"][0]


def test_too_many_refusals_fail_and_leave_no_corpus(
    ingest: Ingest, phantom: dict[str, Any], tmp_path: Path
) -> None:
    phantom["phantom"] |= {"missing_findings": 0.9, "missing_impression": 0.0}
    with pytest.raises(DatasetError, match=r"max_quarantined_share"):
        ingest(phantom)
    assert not (tmp_path / "corpus").exists()


def test_films_with_a_seed_of_their_own_are_the_same_for_every_seed(
    ingest: Ingest, phantom: dict[str, Any]
) -> None:
    first, _, _ = ingest(phantom | {"seed": 3}, seed=0)
    second, _, _ = ingest(phantom | {"seed": 3}, seed=1)
    as_seed, _, _ = ingest(phantom, seed=3)
    pd.testing.assert_frame_equal(first, second)
    pd.testing.assert_frame_equal(first, as_seed)
    other, _, _ = ingest(phantom | {"seed": 4}, seed=0)
    assert not first["report"].equals(other["report"])
