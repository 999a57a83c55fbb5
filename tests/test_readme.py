"""The first page fits, and shows what is there."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]


def test_tree_is_current():
    check = subprocess.run(
        [sys.executable, "tools/readme_tree.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert check.returncode == 0, check.stdout


def test_the_first_page_is_short():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 200
    tree = lines[lines.index("```text") + 1 :]
    assert tree.index("```") <= 45


def test_the_environment_is_activated_before_its_commands_are_named():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    activated = text.index("source .venv/bin/activate")
    for command in ("radrl repro", "radrl score", "kedro run", "radrl ui", "dvc exp"):
        assert activated < text.index(command)


@pytest.mark.parametrize("paper", ["arXiv:2603.04022", "arXiv:2509.18600", "arXiv:2512.16145"])
def test_the_papers_are_cited_alike(paper):
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    (found,) = [own for own in citation["references"] if own["identifiers"][0]["value"] == paper]
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"[{paper}]({found['url']})" in readme
    assert found["title"].removeprefix("OraPO: ").removeprefix("MRG-R1: ") in readme
    assert found["authors"][0]["family-names"] in readme
