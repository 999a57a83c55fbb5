"""The benchmark runs, on a thousandth of its size, and its claims that are no speeds hold there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest


def test_ingest_in_miniature(root: Path, tmp_path: Path) -> None:
    written = tmp_path / "ingest.md"
    options = [
        "--folder",
        str(tmp_path / "trees"),
        "--shares",
        "0.005",
        "0.006",
        "--workers",
        "2",
        "--large",
        "4",
    ]
    subprocess.run(
        [sys.executable, str(root / "bench/ingest.py"), *options, "--write", str(written)],
        check=True,
        cwd=tmp_path,
        capture_output=True,
    )
    text = written.read_text()
    assert "killed and unbroken, one process and 2 are the same" in text
    rows = re.findall(r"^\| ([^|]+) \| ([\d,]+) \|.*\((\d+) rows\) \|$", text, flags=re.MULTILINE)
    assert [name for name, _, _ in rows][:2] == ["0.005", "0.006"]
    assert all(int(films.replace(",", "")) - int(kept) < 3 for _, films, kept in rows)


def test_labels_are_read_faster_from_a_full_cache(root: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(root / "bench/labels.py"), "--rounds", "3"]
    said = subprocess.run(command, check=True, cwd=tmp_path, capture_output=True, text=True).stdout
    rows = re.findall(r"^(.+): ([\d,]+) reports a second \(240 texts\)$", said, flags=re.MULTILINE)
    assert [name for name, _ in rows] == ["no cache", "empty cache", "full cache"]
    uncached, _, cached = (int(count.replace(",", "")) for _, count in rows)
    assert cached > uncached


def test_grpo_step_in_miniature(root: Path, tmp_path: Path) -> None:
    written = tmp_path / "grpo_step.md"
    command = [sys.executable, str(root / "bench/grpo_step.py"), "--rounds", "1", "--steps", "2"]
    subprocess.run([*command, "--write", str(written)], check=True, cwd=tmp_path, capture_output=True)
    rows = re.findall(
        r"^\| ([^|]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \(", written.read_text(), flags=re.MULTILINE
    )
    assert [name for name, *_ in rows] == ["generation", "frozen start", "forward", "backward", "step"]
    for _, plain, shared, ratio in rows:  # the table's seconds are rounded to hundredths
        assert float(ratio) == pytest.approx(float(plain) / float(shared), rel=0.1)


def test_score_memory_in_miniature(root: Path, tmp_path: Path) -> None:
    written = tmp_path / "score_memory.md"
    sizes = ["--pairs", "100", "200", "--speed", "100", "--rounds", "1", "--meteor", "0"]
    command = [
        sys.executable,
        str(root / "bench/score_memory.py"),
        "--folder",
        str(tmp_path / "pairs"),
        *sizes,
    ]
    subprocess.run([*command, "--write", str(written)], check=True, cwd=tmp_path, capture_output=True)
    text = written.read_text()
    rows = re.findall(r"^\| (\d+) \| ([\d,]+) \| (\d+) \|", text, flags=re.MULTILINE)
    assert [pairs for pairs, *_ in rows] == ["100", "200"]
    assert "pycocoevalcap directly" in text


def test_scaling_in_miniature(root: Path, tmp_path: Path) -> None:
    written = tmp_path / "scaling.md"
    sizes = ["--studies", "16", "--factors", "1", "2", "--rounds", "1"]
    stages = ["--stages", "ingest-csv", "label", "selection", "ddsampling"]
    command = [sys.executable, str(root / "bench/scaling.py"), *sizes, *stages]
    options = ["--folder", str(tmp_path / "cells"), "--write", str(written)]
    subprocess.run([*command, *options], check=True, cwd=tmp_path, capture_output=True)
    rows = re.findall(
        r"^\| ([\w-]+) \| 16 \| [\d.]+ \| ([\d.]+) \| ([\d.]+) \| [^|]+ \| \**([\d.]+)\** \|",
        written.read_text(),
        flags=re.MULTILINE,
    )
    assert [name for name, *_ in rows] == stages[1:]
    for _, small, large, ratio in rows:  # the table's milliseconds are rounded to hundredths
        assert float(ratio) == pytest.approx(float(large) / float(small), rel=0.1, abs=0.01)
