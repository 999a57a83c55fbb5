"""bench/faults kills: what is forgotten before a trial, how outcomes are told apart, the smallest trial."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from faults import kills

from kedro_repro.programs import DVC, environment

WRITES = {"a": "echo a > a", "b": "mkdir b; cat a > b/one; echo 2 > b/two", "c": "cat a b/one > c"}
READS = {"a": ["given"], "b": ["a"], "c": ["a", "b"]}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of three stages that DVC has run."""
    folder = tmp_path_factory.mktemp("base") / "radrl"
    folder.mkdir()
    wiring = {name: {"cmd": cmd, "deps": READS[name], "outs": [name]} for name, cmd in WRITES.items()}
    (folder / "given").touch()  # DVC notes no run of a stage that reads nothing
    (folder / "dvc.yaml").write_text(yaml.safe_dump({"stages": wiring}))
    dvc(folder, "init", "--no-scm", "--quiet")
    dvc(folder, "repro", "--quiet")
    return folder


def dvc(folder: Path, *arguments: str) -> str:
    given = environment(DVC_NO_ANALYTICS="1")
    done = subprocess.run(
        [*DVC, *arguments], cwd=folder, env=given, check=True, capture_output=True, text=True
    )
    return done.stdout


@pytest.fixture
def folder(base: Path, tmp_path: Path) -> Path:
    subprocess.run(["cp", "-r", base, tmp_path / "radrl"], check=True)
    return tmp_path / "radrl"


def test_stages_of_the_window_run_again_and_later_ones_are_restored(base: Path, folder: Path) -> None:
    kills.forget(folder, ["b"], ["c"])
    assert [(folder / name).exists() for name in "abc"] == [True, False, False]
    said = dvc(folder, "repro")
    assert "Running stage 'b'" in said
    assert "Stage 'c' is cached" in said
    assert "Running stage 'a'" not in said
    assert kills.compared(base, folder, 0, folder / "log") == "same"


def test_an_outcome_that_differs_is_told(base: Path, folder: Path, tmp_path: Path) -> None:
    (folder / "b" / "one").write_text("other")
    assert kills.compared(base, folder, 0, tmp_path / "log").endswith("radrl/b/one")
    lock = folder / "dvc.lock"
    lock.write_text(lock.read_text().replace("cmd: echo a > a", "cmd: echo"))
    assert kills.compared(base, folder, 0, tmp_path / "log") == "other: a"
    (tmp_path / "log").write_text("Error: refused\n")
    assert kills.compared(base, folder, 1, tmp_path / "log") == "ended with 1:     Error: refused"


def test_what_lies_half_written_is_found(base: Path, folder: Path) -> None:
    for own in (base, folder):
        own.with_name("tmp").mkdir(exist_ok=True)
    assert kills.half_written(folder, base) == []
    (folder / "data").mkdir()
    (folder / "data" / ".x.1.partial").touch()
    (folder.with_name("tmp") / "radrl.abcdefgh").touch()
    (folder / "dvc.lock").write_text("schema")
    (folder / ".dvc/tmp/rwlock").write_text("{")
    assert kills.half_written(folder, base) == [
        "DVC's rwlock",
        "TMPDIR/radrl.*",
        "data/.x.1.partial",
        "dvc.lock, 6 bytes of it",
    ]


def test_the_page_counts_what_it_shows() -> None:
    same = kills.Trial(1, "alone", 3, 12.34, ["sft"], ["dvc", "dvc"], [], ["DVC's rwlock"], "same", [])
    other = kills.Trial(2, "lock", 0, 1.0, [], [], ["kedro"], [], "ended with 1:\n  refused | so", [])
    text = kills.page([same, other], {"seconds": 99.6, "stages": {"sft": 9.0}}, seed=5, window=2)
    assert "--kills 2 --seed 5 --window 2" in text
    assert "2 kills with seed 5: 1 ended with the bytes of the unbroken run" in text
    assert "In 1 something ran on" in text
    assert "| 1 | alone | 3 | 12.3 | sft | dvc (2) | DVC's rwlock | same |  |" in text
    rows = [line for line in text.splitlines() if re.match(r"\| \d", line)]
    assert [row.count(" | ") for row in rows] == [8, 8]


@pytest.mark.slow
def test_in_miniature(root: Path, tmp_path: Path) -> None:
    written = tmp_path / "faults.md"
    command = [sys.executable, str(root / "bench/faults"), "kills", "--kills", "1", "--window", "1"]
    subprocess.run([*command, "--write", str(written)], check=True, cwd=tmp_path, capture_output=True)
    assert "1 kills with seed 0: 1 ended with the bytes of the unbroken run" in written.read_text()
    assert "In 0 something ran on" in written.read_text()
