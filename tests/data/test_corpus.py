"""Films of the corpus, each read when it is asked for."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
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
        digests = [b"/".join([split.encode(), *own]) for split, own in rows]
        columns = {"sample_id": ids, "split": splits, "images": films, "digest": digests}
        corpora.write(pa.table(columns), folder / f"part-{number:05d}.arrow")
    return corpora.opened(folder)


@pytest.fixture
def corpus(tmp_path: Path) -> ds.Dataset:
    return write(tmp_path / "corpus", SHARDS)


@pytest.fixture(params=["mapped", "in memory"])
def either(corpus: ds.Dataset, request: pytest.FixtureRequest) -> ds.Dataset:
    return corpus if request.param == "mapped" else ds.dataset(corpus.to_table())


def test_films_are_those_of_the_split_in_its_order(either: ds.Dataset) -> None:
    films = corpora.Films(either, "train")
    assert list(films) == TRAIN
    ids = corpora.read(either, split="train", columns=["sample_id"])["sample_id"].tolist()
    assert list(corpora.Films(either, sample_ids=ids)) == TRAIN
    assert len(films) == 4
    assert films[1:3] == TRAIN[1:3]
    assert films[::-1] == TRAIN[::-1]
    assert films[-1] == TRAIN[-1]
    assert films[4:] == []
    with pytest.raises(IndexError):
        films[4]


def test_films_are_those_of_the_samples_in_their_order(either: ds.Dataset) -> None:
    assert list(corpora.Films(either, sample_ids=["2-1", "0-2", "2-1"])) == [(b"f",), (b"c", b"cc"), (b"f",)]
    assert corpora.pictures(either, ["2-1", "0-0"]) == {"2-1": (b"f",), "0-0": (b"a",)}
    assert list(corpora.Films(either, sample_ids=[])) == []
    with pytest.raises(KeyError, match="lacks sample 9-9"):
        corpora.Films(either, sample_ids=["2-1", "9-9"])


def test_a_split_without_films_has_none(corpus: ds.Dataset) -> None:
    assert list(corpora.Films(corpus, "test")) == []


def test_a_process_that_is_sent_films_opens_the_files_itself(corpus: ds.Dataset) -> None:
    films = corpora.Films(corpus, "train")
    sent = pickle.dumps(films)
    assert b"cc" not in sent
    assert list(pickle.loads(sent)) == TRAIN


def test_digest_is_of_the_rows_and_not_of_the_shards(tmp_path: Path, corpus: ds.Dataset) -> None:
    digest = corpora.Films(corpus, "train").digest()
    whole = write(tmp_path / "whole", ([row for shard in SHARDS for row in shard],))
    assert corpora.Films(whole, "train").digest() == digest
    other = write(tmp_path / "other", (*SHARDS[:2], [("train", [b"e"]), ("train", [b"g"])]))
    assert corpora.Films(other, "train").digest() != digest
    assert corpora.Films(corpus, sample_ids=["2-1", "2-0"]).digest() != (
        corpora.Films(corpus, sample_ids=["2-0", "2-1"]).digest()
    )
