"""README.md shows what is there."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_tree_is_current():
    check = subprocess.run(
        [sys.executable, "tools/readme_tree.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert check.returncode == 0, check.stdout


def test_every_make_target_it_names_exists():
    named = set(re.findall(r"\bmake ([a-z-]+)", (ROOT / "README.md").read_text(encoding="utf-8")))
    there = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M))
    assert named <= there


def test_every_file_it_links_exists():
    linked = re.findall(r"\]\(([^)#:]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert [path for path in linked if not (ROOT / path).exists()] == []
