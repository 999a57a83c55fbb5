"""`dvc exp run -S` changes one line of params.yaml, and leaves the rest as people wrote it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from dvc.utils.hydra import apply_overrides

ROOT = Path(__file__).parents[1]
RECIPES = sorted((ROOT / "conf/recipes").glob("[!s]*.yaml"))  # studies name params, and are none


@pytest.mark.parametrize("file", [ROOT / "params.yaml", *RECIPES], ids=lambda file: file.stem)
def test_one_key_is_one_line(file: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copy(file, tmp_path / "params.yaml"))
    apply_overrides(copy, ["training.steps=12345"])
    before, after = file.read_text().splitlines(), copy.read_text().splitlines()
    assert len(before) == len(after)
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert len(changed) == 1, "write it as DVC's writer does: " + repr(changed[:3])
    assert "steps: 12345" in changed[0][1]
