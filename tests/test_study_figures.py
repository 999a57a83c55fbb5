"""tools/study_figures.py on the scores of three seeds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

FIGURES = {"without": {"few": (3.0, 4.0, 5.0)}, "told": {"few": (1.0, 2.0, 6.0)}}


def write(folder: Path, run: str, seed: int, few: float) -> None:
    scores = folder / f"{run}-seed-{seed}/data/08_reporting/eval/sft/scores.json"
    scores.parent.mkdir(parents=True)
    scores.write_text(json.dumps({"few": few}))


def run(root: Path, *given: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "tools/study_figures.py"), *map(str, given)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_line_has_both_runs_and_what_the_seeds_that_both_have_differ_by(root: Path, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for name, figures in FIGURES.items():
        for seed, few in enumerate(figures["few"]):
            write(there if seed == 2 else here, name, seed, few)
    write(here, "told", 3, 9.0)  # of one run alone
    done = run(root, "without", "told", "few", "--clones", here, there)
    assert done.returncode == 0, done.stderr
    head, _, line = done.stdout.splitlines()
    assert "difference over seeds [0, 1, 2]" in head
    # differences -2, -2, 1: mean -1, standard deviation sqrt(3), standard error 1, t = -1 with 2 degrees:
    # p = 1 - 1 / sqrt(3) = 0.423, and 4.303 to each side
    assert line == "| sft | `few` | 4.000 ± 1.000 | 3.000 ± 2.646 | -1.000 (-5.303 to +3.303), p 0.4 |"


def test_a_folder_without_scores_is_refused(root: Path, tmp_path: Path) -> None:
    done = run(root, "without", "told", "few", "--clones", tmp_path)
    assert done.returncode == 2
    assert f"no arm was scored in both runs below {tmp_path}; run the study first" in done.stderr
