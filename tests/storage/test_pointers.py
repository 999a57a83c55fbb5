"""Pointers to weights: what they say, and that nobody reads other weights than those."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from radrl.storage.digests import sha256
from radrl.storage.pointers import POINTER, PointerError, pointing, resolve


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    folder = tmp_path / "weights"
    folder.mkdir()
    for name in ("model.pth", "vocab.txt"):
        (folder / name).write_text(name)
    return folder


@pytest.fixture
def pointed(tmp_path: Path) -> Path:
    folder = tmp_path / "pointed"
    folder.mkdir()
    return folder


def test_a_pointer_is_the_path_and_the_digests(weights: Path, pointed: Path) -> None:
    pointing(weights, [weights / "model.pth"])(pointed)
    assert [file.name for file in pointed.iterdir()] == [POINTER]
    content = json.loads((pointed / POINTER).read_text())
    assert content == {"path": str(weights), "sha256": {"model.pth": sha256(weights / "model.pth")}}
    assert resolve(pointed, stage="s") == weights


def test_weights_may_be_a_file_with_others_beside_it(weights: Path, pointed: Path) -> None:
    pointing(weights / "model.pth", sorted(weights.iterdir()))(pointed)
    assert resolve(pointed, stage="s") == weights / "model.pth"
    (weights / "vocab.txt").write_text("another")
    with pytest.raises(
        PointerError, match=r"vocab\.txt has changed since the stage s saw it: run that stage"
    ):
        resolve(pointed, stage="s")


def test_a_folder_without_a_pointer_holds_its_own(weights: Path) -> None:
    assert resolve(weights, stage="s") == weights


def test_digests_are_of_the_time_when_they_were_taken(weights: Path, pointed: Path) -> None:
    write = pointing(weights, [weights / "model.pth"])
    (weights / "model.pth").write_text("another")
    write(pointed)
    with pytest.raises(PointerError, match=r"model\.pth has changed since"):
        resolve(pointed, stage="s")


@pytest.mark.parametrize("as_file", [True, False])
def test_what_is_gone_is_named(weights: Path, pointed: Path, as_file: bool) -> None:
    target = weights / "model.pth" if as_file else weights
    pointing(target, sorted(weights.iterdir()))(pointed)
    (weights / "vocab.txt").unlink()
    with pytest.raises(PointerError, match=r"weights/vocab\.txt is gone; .*pointer\.json points at it"):
        resolve(pointed, stage="s")
    weights.rename(weights.with_name("moved"))
    with pytest.raises(PointerError, match=f"{target} is gone; .*pointer.json points at it"):
        resolve(pointed, stage="s")


def test_a_relative_path_is_of_the_project_that_the_pointer_lies_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two clones have the same pointer, and each its own weights, from wherever they are asked."""
    digests = set()
    for clone in ("one", "two"):
        project = tmp_path / clone
        (project / "models/shipped").mkdir(parents=True)
        (project / "data/base").mkdir(parents=True)
        (project / "models/shipped/model.pth").write_text("weights")
        monkeypatch.chdir(project)
        shipped = Path("models/shipped")
        pointing(shipped, [shipped / "model.pth"])(project / "data/base")
        digests.add(sha256(project / "data/base" / POINTER))
        monkeypatch.chdir(tmp_path)
        assert resolve(project / "data/base", stage="policy") == project / "models/shipped"
    assert len(digests) == 1
