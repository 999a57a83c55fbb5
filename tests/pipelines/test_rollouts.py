"""The stage rollouts: what a killed run leaves is used for the same work alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from sampled_films import note_sampled

from radrl.datasets import ParquetShards
from radrl.pipelines.rollouts import sample_rollouts

Row = dict[str, Any]


@pytest.fixture
def inputs(
    small: dict[str, Any], make_corpus: Callable[..., ds.Dataset], policy_folder: Path, tmp_path: Path
) -> dict[str, Any]:
    return {
        "corpus": make_corpus(["train", "test"], studies=7),
        "start": policy_folder,
        "settings": small["rollouts"],
        "dtype": "float32",
        "prompt": small["prompts"]["plain"],
        "seed": 0,
        "threads": 1,
        "device": "cpu",
        "workspace": tmp_path / ".rollouts",
    }


@pytest.fixture
def sampled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Films that were really sampled, in order."""
    films: list[str] = []
    note_sampled(monkeypatch, films)
    return films


def rows(inputs: dict[str, Any]) -> list[Row]:
    return [row for shard in sample_rollouts(**inputs) for row in shard.to_pylist()]


def test_training_films_alone_get_k_samples(inputs: dict[str, Any]) -> None:
    named = [(row["sample_id"], row["rollout"]) for row in rows(inputs)]
    assert named == [(f"train{i}_1", sample) for i in range(7) for sample in range(2)]
    assert not inputs["workspace"].exists()


def test_killed_and_run_again_is_as_never_stopped(
    inputs: dict[str, Any], sampled: list[str], tmp_path: Path, contents: Callable[[Path], dict[str, bytes]]
) -> None:
    saved = ParquetShards(str(tmp_path / "unbroken"))
    saved.save(sample_rollouts(**inputs))
    killed = sample_rollouts(**inputs)
    next(killed)
    killed.close()

    sampled.clear()
    again = ParquetShards(str(tmp_path / "again"))
    again.save(sample_rollouts(**inputs))
    assert contents(tmp_path / "again") == contents(tmp_path / "unbroken")
    assert sampled == [f"train{i}_1" for i in range(3, 7)]
    assert not inputs["workspace"].exists()


@pytest.mark.parametrize("change", ["seed", "prompt", "settings", "corpus", "start"])
def test_shards_of_other_work_are_not_used(
    inputs: dict[str, Any],
    sampled: list[str],
    make_corpus: Callable[..., ds.Dataset],
    films: Callable[..., list[bytes]],
    other_policy: Path,
    tmp_path: Path,
    change: str,
) -> None:
    killed = sample_rollouts(**inputs)
    next(killed)
    killed.close()
    changed = {
        "seed": 1,
        "prompt": "Describe.",
        "settings": inputs["settings"] | {"top_p": 0.5},
        "corpus": make_corpus(
            ["train", "test"], studies=7, images=[[film] for film in films(14, seed=9)]
        ),  # of the same ids
        "start": other_policy,
    }
    sampled.clear()
    rows(inputs | {change: changed[change]})
    assert len(sampled) == 7
