"""Archives whose damage tarfile passes over; all other damage is in tests/test_damaged_files.py."""

import gzip
import io
import tarfile

import pytest

from radrl.data.archives import tar_entries
from radrl.data.tables import SourceError


@pytest.fixture
def two(tmp_path):
    """An archive of two entries: headers at bytes 0 and 1024, the end at 2048."""
    path = tmp_path / "two.tar"
    with tarfile.open(path, "w") as archive:
        for name in ("a.xml", "b.xml"):
            info = tarfile.TarInfo(name)
            info.size = 3
            archive.addfile(info, io.BytesIO(b"abc"))
    return path


def names(path, largest=10):
    return [(entry.name, entry.content) for entry in tar_entries(path, largest=largest)]


def test_entries_in_order_and_large_ones_without_content(two):
    assert names(two) == [("a.xml", b"abc"), ("b.xml", b"abc")]
    assert names(two, largest=2) == [("a.xml", None), ("b.xml", None)]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:1030] + b"\xff" + data[1031:],  # the second header's name: its sum is wrong
        lambda data: data[:1024] + bytes(512) + data[1536:],  # zeros in its place look like the end
        lambda data: data[:1024],  # cut between two entries
    ],
    ids=["damaged header", "header of zeros", "cut"],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "packed"])
def test_entries_behind_damage_are_not_passed_over(two, damage, pack):
    data = damage(two.read_bytes())
    two.write_bytes(pack(data))
    with tarfile.open(two) as archive:
        assert archive.getnames() == ["a.xml"]  # what tarfile makes of it, without a word
    with pytest.raises(SourceError, match=r"two\.tar is no tar archive, or damaged .*; fetch it again"):
        names(two)
