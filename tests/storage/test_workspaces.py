"""Work in progress is used again only for the same work."""

from __future__ import annotations

from pathlib import Path

import pytest

from radrl.storage.workspaces import claim, fingerprint


def test_workspace_of_the_same_work_is_kept_and_of_another_cleared(tmp_path: Path) -> None:
    workspace = tmp_path / "deep" / "work"
    claim(workspace, "one")
    (workspace / "shard").touch()
    claim(workspace, "one")
    assert (workspace / "shard").exists()
    claim(workspace, "two")
    assert not (workspace / "shard").exists()
    claim(workspace, "two")


def test_workspace_without_a_stamp_is_cleared(tmp_path: Path) -> None:
    (tmp_path / "work" / "shard").mkdir(parents=True)
    claim(tmp_path / "work", "one")
    assert not (tmp_path / "work" / "shard").exists()


@pytest.mark.parametrize("change", ["settings", "content", "name"])
def test_fingerprint_follows_settings_and_files(tmp_path: Path, change: str) -> None:
    weights = tmp_path / "policy" / "model"
    weights.parent.mkdir()
    weights.write_text("1")
    before = fingerprint({"steps": 2, "seed": 0}, tmp_path / "policy")
    assert fingerprint({"seed": 0, "steps": 2}, tmp_path / "policy") == before
    settings = {"steps": 3 if change == "settings" else 2, "seed": 0}
    if change == "content":
        weights.write_text("2")
    if change == "name":
        weights.rename(weights.with_name("other"))
    assert fingerprint(settings, tmp_path / "policy") != before
