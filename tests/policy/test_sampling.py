"""Rollouts shard by shard, and what a kill leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pytest
from sampled_films import note_sampled

from radrl.policy import sampling
from radrl.policy.folder import Policy
from radrl.policy.hf_writer import HfWriter
from radrl.policy.sampling import Sampling, sample_shards

SETTINGS = {
    "samples": 2,
    "films_per_shard": 3,
    "batch_size": 2,
    "temperature": 1.0,
    "top_p": 0.9,
    "max_new_tokens": 4,
}
IDS = [f"film{i}" for i in range(7)]  # shards of 3, 3 and 1
Start = Callable[[], Iterator[pa.Table]]


@pytest.fixture
def start(
    policy: Policy, films: Callable[..., list[bytes]], prompt: str, tmp_path: Path
) -> Callable[..., Any]:
    def run(workspace: str = "work", seed: int = 0, **settings: Any) -> Iterator[pa.Table]:
        (tmp_path / workspace).mkdir(exist_ok=True)
        shown = [(film,) for film in films(7)]
        drawn = Sampling(IDS, shown, prompt, SETTINGS | settings, seed, tmp_path / workspace)
        return sample_shards(drawn, partial(HfWriter, policy))

    return run


def rows(shards: Iterator[pa.Table]) -> list[dict[str, Any]]:
    return [row for shard in shards for row in shard.to_pylist()]


def test_every_film_has_every_sample_once_and_in_order(start: Callable[..., Any]) -> None:
    shards = list(start())
    assert [shard.num_rows for shard in shards] == [6, 6, 2]
    named = [(row["sample_id"], row["rollout"]) for row in rows(iter(shards))]
    assert named == [(film, sample) for film in IDS for sample in (0, 1)]


def test_same_seed_same_reports_and_every_batch_its_own_draws(start: Callable[..., Any]) -> None:
    first = rows(start("a"))
    assert rows(start("b")) == first
    assert rows(start("c", seed=1)) != first
    assert len({row["report"] for row in first}) == len(first)


@pytest.mark.parametrize("size", [{"batch_size": 3}, {"films_per_shard": 7, "batch_size": 5}])
def test_samples_do_not_depend_on_batches_and_shards(start: Callable[..., Any], size: dict[str, int]) -> None:
    assert rows(start("other", **size)) == rows(start("usual"))


@pytest.mark.parametrize("shards", [1, 2])
def test_closed_after_some_shards_and_taken_up_is_as_never_stopped(
    start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, shards: int
) -> None:
    unbroken = rows(start("unbroken"))
    half = start("killed")
    for _ in range(shards):
        next(half)
    half.close()

    sampled: list[str] = []
    note_sampled(monkeypatch, sampled)
    assert rows(start("killed")) == unbroken
    assert sampled == IDS[3 * shards :]  # nothing twice


def test_killed_within_a_shard_leaves_no_half_of_it(
    start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    unbroken = rows(start("unbroken"))
    calls = 0
    original = HfWriter.write

    def dying(*given: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 4:  # the second batch of the second shard
            raise KeyboardInterrupt
        return original(*given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(HfWriter, "write", dying)
        with pytest.raises(KeyboardInterrupt):
            rows(start("killed"))
    assert [file.name for file in (tmp_path / "killed").iterdir()] == ["shard-00000.parquet"]
    assert rows(start("killed")) == unbroken


def test_killed_while_writing_a_shard_is_taken_up(
    start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def half(table: pa.Table, stream: IO[bytes]) -> None:
        stream.write(b"PAR1 half")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(sampling.pq, "write_table", half)
        with pytest.raises(KeyboardInterrupt):
            rows(start("killed"))
    assert not list((tmp_path / "killed").iterdir())
    assert rows(start("killed")) == rows(start("unbroken"))


def test_workspace_outlives_a_kill_and_goes_at_the_end(start: Callable[..., Any], tmp_path: Path) -> None:
    shards = start()
    next(shards)
    assert (tmp_path / "work" / "shard-00000.parquet").is_file()
    list(shards)
    assert not (tmp_path / "work").exists()
