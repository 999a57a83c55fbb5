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


def test_credits_in_miniature(root: Path, tmp_path: Path) -> None:
    written = tmp_path / "credits.md"
    command = [sys.executable, str(root / "bench/credits.py"), "--rounds", "1", "--steps", "2"]
    command += ["--lessons", "64", "--write", str(written)]
    subprocess.run(command, check=True, cwd=tmp_path, capture_output=True)
    text = written.read_text()
    rows = dict(re.findall(r"^\| ([a-z ]+) \| ([\d. |]+) \|$", text, flags=re.MULTILINE))
    seconds = {name: [float(cell) for cell in cells.split(" | ")] for name, cells in rows.items()}
    whole = seconds.pop("step")
    for i, step in enumerate(whole):  # the table's seconds are rounded to thousandths
        assert sum(own[i] for own in seconds.values()) == pytest.approx(step, abs=0.005)
    assert re.findall(r"^\| DiTPO by (\S+) \|.*\| (\d+)% \|$", text, flags=re.MULTILINE) == [
        ("gradient", "10"),
        ("TF-IDF", "2"),
    ]


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
