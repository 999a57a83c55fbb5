"""Thumbnails of films, and the nearest training film."""

from __future__ import annotations

import io
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from PIL import Image

from radrl.data import thumbnails
from radrl.data.thumbnails import SIDE, nearest_training_films, thumbnail


def png(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(buffer, format="PNG")
    return buffer.getvalue()


def noise(seed: int, side: int = 48) -> bytes:
    return png(np.random.default_rng(seed).integers(0, 256, (side, side)))


def corpus(*rows: tuple[str, str, bytes]) -> ds.Dataset:
    ids, splits, films = zip(*rows, strict=True)
    return ds.dataset(pa.table({"sample_id": ids, "split": splits, "images": [[film] for film in films]}))


def test_a_thumbnail_averages_blocks() -> None:
    pixels = np.zeros((2 * SIDE, 4 * SIDE))
    pixels[:2, :4] = 100  # the first block, of 2 x 4 pixels
    pixels[:2, 4:6] = 50  # half of the second
    small = thumbnail(png(pixels)).reshape(SIDE, SIDE)
    assert small.dtype == np.uint8
    assert small[0, :3].tolist() == [100, 25, 0]
    assert small[1:].max() == 0


def test_the_nearest_film_of_the_training_split_alone() -> None:
    dark, grey, bright = (png(np.full((20, 20), level)) for level in (0, 100, 200))
    films = corpus(
        ("a", "test", grey),
        ("b", "val", grey),
        ("c", "train", dark),
        ("d", "train", bright),
        ("e", "test", dark),
    )
    # grey is 100 from both, a film of equal pixels in val does not count; among equals the first
    assert nearest_training_films(films, ["e", "a"]) == ["c", "c"]
    assert nearest_training_films(films, ["a"], split="val") == ["b"]


def test_an_identical_film_is_found_only_in_the_training_split() -> None:
    rows = [(f"t{i}", "train", noise(i)) for i in range(20)]
    films = corpus(
        *rows, ("same", "test", noise(7)), ("elsewhere", "test", noise(99)), ("v", "val", noise(99))
    )
    found = nearest_training_films(films, ["same", "elsewhere", "t3"])
    assert found[0] == "t7"
    assert found[1] in {f"t{i}" for i in range(20)}
    assert found[2] == "t3"


@pytest.mark.parametrize("batch", [1, 3, 100])
def test_streaming_shards_finds_what_comparing_at_once_finds(tmp_path: Path, batch: int) -> None:
    pictures = [noise(i, side=16 + i % 5) for i in range(30)]
    rows = {
        "sample_id": [f"f{i}" for i in range(30)],
        "split": ["train" if i % 3 else "test" for i in range(30)],
        "images": [[film] for film in pictures],
    }
    table = pa.table(rows)
    for number in range(4):  # shards of 8 films, the last of 6
        pq.write_table(table.slice(8 * number, 8), tmp_path / f"part-{number:05d}.parquet")
    small = np.stack([thumbnail(film) for film in pictures]).astype(int)
    train = [i for i in range(30) if i % 3]
    asked = [27, 0, 12]
    at_once = [train[((small[train] - small[i]) ** 2).sum(axis=1).argmin()] for i in asked]
    shards = ds.dataset(tmp_path, format="parquet")
    found = nearest_training_films(shards, [f"f{i}" for i in asked], batch=batch)
    assert found == [f"f{i}" for i in at_once]


def test_memory_is_that_of_a_shard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Peaks of Python with NumPy and of Arrow for 8 times the films, read by a slow consumer."""

    def slow(film: bytes) -> np.ndarray:
        time.sleep(1e-4)
        return np.frombuffer(film[: SIDE * SIDE], dtype=np.uint8)

    monkeypatch.setattr(thumbnails, "thumbnail", slow)
    peaks = {}
    for films in (250, 2000):
        folder = tmp_path / str(films)
        folder.mkdir()
        rng = np.random.default_rng(0)
        for number in range(films // 50):
            pictures = [rng.integers(0, 256, 20_000, dtype=np.uint8).tobytes() for _ in range(50)]
            names = [f"f{50 * number + i}" for i in range(50)]
            split = ["test" if number == 0 else "train"] * 50
            shard = pa.table({"sample_id": names, "split": split, "images": [[film] for film in pictures]})
            pq.write_table(shard, folder / f"part-{number:05d}.parquet")
        peaks[films] = _peaks(ds.dataset(folder, format="parquet"))
    # a shard is 1 MB, all films 40 MB; their names are the one thing that grows
    assert max(peaks[2000]) < 5_000_000
    assert peaks[2000][0] < peaks[250][0] + 1_000_000


def _peaks(shards: ds.Dataset) -> tuple[int, int]:
    before, counted = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(counted)
    tracemalloc.start()
    try:
        nearest_training_films(shards, ["f0", "f1"], batch=25)
        return tracemalloc.get_traced_memory()[1], counted.max_memory()
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)


def test_what_is_missing_is_named() -> None:
    films = corpus(("a", "test", noise(0)))
    with pytest.raises(ValueError, match="lacks 1 of 2 films, the first is b"):
        nearest_training_films(films, ["a", "b"])
    with pytest.raises(ValueError, match="no training film"):
        nearest_training_films(films, ["a"])
