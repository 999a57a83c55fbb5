"""Films of a split, read shard by shard."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from radrl.data import corpus as corpora

SHARDS = (  # split and films of each sample
    [("train", [b"a"]), ("val", [b"b"]), ("train", [b"c", b"cc"])],
    [("val", [b"d"])],
    [("train", [b"e"]), ("train", [b"f"])],
)
TRAIN = [(b"a",), (b"c", b"cc"), (b"e",), (b"f",)]


def write(folder: Path, shards: tuple[list[tuple[str, list[bytes]]], ...]) -> ds.Dataset:
    folder.mkdir()
    for number, rows in enumerate(shards):
        splits, films = zip(*rows, strict=True)
        ids = [f"{number}-{place}" for place in range(len(rows))]
        table = pa.table({"sample_id": ids, "split": splits, "images": films})
        pq.write_table(table, folder / f"part-{number:05d}.parquet")
    return ds.dataset(folder, format="parquet")


@pytest.fixture
def corpus(tmp_path: Path) -> ds.Dataset:
    return write(tmp_path / "corpus", SHARDS)


def test_films_are_those_of_the_split_in_its_order(corpus: ds.Dataset) -> None:
    films = corpora.Films(corpus, "train")
    assert list(films) == TRAIN == corpora.read(corpus, split="train", columns=["images"])["images"].tolist()
    assert len(films) == 4
    assert films[1:3] == TRAIN[1:3]
    assert films[::-1] == TRAIN[::-1]
    assert films[-1] == TRAIN[-1]
    assert films[4:] == []
    with pytest.raises(IndexError):
        films[4]


def test_a_split_without_films_has_none(corpus: ds.Dataset) -> None:
    assert list(corpora.Films(corpus, "test")) == []


def test_one_shard_is_held_at_a_time(corpus: ds.Dataset) -> None:
    films = corpora.Films(corpus, "train")
    held = []
    for _ in films:
        assert films._held is not None
        held.append((films._held[0], len(films._held[1])))
    assert held == [(0, 2), (0, 2), (2, 2), (2, 2)]


def test_digest_tells_films_apart_and_not_how_they_are_sharded(tmp_path: Path, corpus: ds.Dataset) -> None:
    digest = corpora.Films(corpus, "train").digest()
    whole = write(tmp_path / "whole", ([row for shard in SHARDS for row in shard],))
    assert corpora.Films(whole, "train").digest() == digest
    joined = [("train", [b"a", b"c"]), ("train", [b"cc"]), *SHARDS[2]]
    assert corpora.Films(write(tmp_path / "joined", (joined,)), "train").digest() != digest
    glued = [("train", [b"a"]), ("train", [b"ccc"]), *SHARDS[2]]
    assert corpora.Films(write(tmp_path / "glued", (glued,)), "train").digest() != digest


def test_pictures_are_those_of_the_samples_in_their_order(corpus: ds.Dataset) -> None:
    assert list(corpora.pictures(corpus, ["2-1", "0-2", "0-0"]).items()) == [
        ("2-1", [b"f"]),
        ("0-2", [b"c", b"cc"]),
        ("0-0", [b"a"]),
    ]
