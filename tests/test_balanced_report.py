"""tools/balanced_report.py on small pools."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from radrl.observations import OBSERVATIONS


@pytest.fixture(scope="module")
def tool(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("balanced_report", root / "tools" / "balanced_report.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["balanced_report"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_simulated_labels_have_the_stated_shares(tool: ModuleType) -> None:
    labels, complete = tool.simulated(20_000, seed=3)
    assert complete.all()
    shares = [tool.SHARES[name] for name in OBSERVATIONS]
    assert labels.mean(axis=0) == pytest.approx(shares, abs=0.015)
    normal = labels[:, OBSERVATIONS.index("No Finding")] == 1
    found = [i for i, name in enumerate(OBSERVATIONS) if name not in tool.NO_PATHOLOGY]
    assert not labels[normal][:, found].any()


def test_compares_pool_chance_greedy_and_balanced(tool: ModuleType) -> None:
    labels = np.repeat(np.eye(14, dtype=int), [40, *[10] * 12, 2], axis=0)
    complete = np.arange(len(labels)) > 0
    shown = tool.compare(labels, complete, size=41, seed=0)
    assert shown["complete"].counts.tolist() == [39, *[10] * 12, 2]
    assert shown["at random"].counts[0] == round(39 * 41 / 161)
    assert shown["balanced"].counts.tolist() == [3] * 13 + [2]
    lines = tool.table(shown).splitlines()
    assert lines[0] == "| studies positive for | complete | at random | greedy | balanced | highest level |"
    assert "| most : fewest | 19.50 | 10.00 | 1.50 | 1.50 | 1.50 |" in lines
    assert lines[-1].endswith("; proven best")


def test_writes_between_the_marks_alone(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "balanced.md"
    page.write_text(f"before\n{tool.BEGIN}old\n{tool.END}after\n", encoding="utf-8")
    monkeypatch.setattr(tool, "PAGE", page)
    small = ["--drawn", "60", "--simulated", "500", "--size", "40"]
    monkeypatch.setattr(sys, "argv", ["balanced_report.py", "--write", *small])
    tool.main()
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{tool.BEGIN}### 10 of 60 drawn phantoms, seed 0\n")
    assert "### 40 of 500 simulated studies, seed 0\n" in text
    assert text.endswith(f"{tool.END}after\n")
    assert "old" not in text
