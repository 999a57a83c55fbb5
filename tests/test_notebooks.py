"""The notebooks: run on a smoke run with and without Jupyter, their pages, and the reward that one writes."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import notebooks
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from small_arms import train_inputs, train_stage

PATHS = notebooks.paths()
WRITES = re.compile(r"%%writefile \$own/(\S+)\n")
each = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
Names = dict[str, Any]


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that a notebook writes its module into; nothing of it stays imported."""
    folder = tmp_path / "own"
    folder.mkdir()
    monkeypatch.setenv("RADRL_OWN", str(folder))
    monkeypatch.syspath_prepend(folder)
    yield folder
    sys.modules.pop("my_rewards", None)


@pytest.fixture
def ran(smoke: Path, own: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Names]]:
    """What a notebook's cells leave, run one after another without Jupyter."""

    def run(stem: str) -> Names:
        names: Names = {}
        for cell in cells(notebooks.NOTEBOOKS / f"{stem}.ipynb"):
            if magic := WRITES.match(cell):
                (own / magic[1]).write_text(cell[magic.end() :], encoding="utf-8")
            else:
                exec(cell, names)
        return names

    monkeypatch.setenv("RADRL_DATA", str(smoke))
    monkeypatch.chdir(notebooks.NOTEBOOKS)
    with mpl.rc_context({"backend": "agg"}):
        yield run
        plt.close("all")


def cells(path: Path) -> list[str]:
    """A notebook's code."""
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == "code"]


def test_data_and_labels(ran: Callable[[str], Names]) -> None:
    names = ran("01_data_and_labels")
    kept = names["summary"]["splits"]["train"]
    assert len(names["labels"]) == len(names["films"]) == kept > 0
    assert names["shares"].sum(axis=1).tolist() == pytest.approx([1.0] * 14)
    assert names["together"].to_numpy().max() <= 1
    assert all(panel.get_title().endswith("(drawn)") for panel in names["panels"])


def test_diversity_and_selection(ran: Callable[[str], Names]) -> None:
    names = ran("02_diversity_and_selection")
    assert names["again"] == names["diversity"]["diversity"].max() > 0
    assert {"full", "ddsampling"} <= set(names["shares"])
    assert names["shares"].notna().all(axis=None)
    assert set(names["pools"]["pool"]) <= set(names["subsets"])


def test_training_dynamics(ran: Callable[[str], Names], smoke: Path) -> None:
    names = ran("03_training_dynamics")
    grpo = pd.read_csv(smoke / "08_reporting/training/arms/grpo.csv")
    assert names["histories"]["grpo"]["reward"].dropna().tolist() == grpo["reward"].dropna().tolist() != []
    assert "sft" not in names["histories"]  # the start of the others: nothing trains
    drawn = {panel.get_title(): len(panel.lines) for panel in names["panels"].flat}
    assert drawn["reward"] == len(names["histories"])


def test_comparing_arms(ran: Callable[[str], Names], smoke: Path) -> None:
    names = ran("04_comparing_arms")
    compared = pd.read_csv(smoke / "08_reporting/comparison/comparison.csv")
    assert list(names["values"].index) == list(dict.fromkeys(compared["arm"]))
    assert names["values"].notna().to_numpy().any(axis=1).all()
    assert list(names["f1"]) == list(names["arms"]) != []


def test_own_reward_is_as_worked_out_by_hand(ran: Callable[[str], Names]) -> None:
    names = ran("05_your_own_reward")
    # The left effusion; on the right; on both sides: 2 * 1 / (2 + 1); no finding; nothing.
    assert names["hand"]["sides"].tolist() == pytest.approx([1, 0, 2 / 3, 0, 0])
    assert set(names["table"].index) == {"ce_f1", "bleu2", "sides"}


def test_own_reward_trains_an_arm(
    ran: Callable[[str], Names], small: Names, make_corpus: Any, policy_folder: Path, tmp_path: Path
) -> None:
    arm = ran("05_your_own_reward")["arm"]
    corpus = make_corpus(["train", "test"], studies=12)
    small["training"]["steps"] = 2
    inputs = train_inputs(small, corpus, policy_folder, tmp_path, reward=arm["reward"])
    _, history = train_stage(**inputs, step_report=lambda step, numbers: None)
    worth = history["rewards/sides/mean"].dropna()
    assert len(worth) == 2
    assert worth.between(0, 1).all()


def test_the_reward_has_20_lines() -> None:
    (written,) = [cell for cell in cells(PATHS[-1]) if WRITES.match(cell)]
    body = written.split("\n")[2:]  # without the magic and the module's docstring
    assert len([line for line in body if line.strip()]) <= 20


@each
def test_a_kernel_runs_it_and_a_page_comes_out(path: Path, smoke: Path, tmp_path: Path) -> None:
    for package in ("nbclient", "nbconvert", "ipykernel"):
        pytest.importorskip(package, reason=f"{package} is missing: pip install -e '.[notebooks]'")
    done = notebooks.run(path, smoke, tmp_path)
    made = notebooks.page(done, path.relative_to(notebooks.ROOT).as_posix())
    assert made.text.count(f"{notebooks.CAPTION}\n") == len(made.pictures) > 0
    assert all(
        f"]({name})" in made.text and png.startswith(b"\x89PNG") for name, png in made.pictures.items()
    )


@each
def test_no_output_is_committed(path: Path) -> None:
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert [c["outputs"] for c in found if c["cell_type"] == "code" and c["outputs"]] == []


def test_pages_are_those_of_the_notebooks() -> None:
    assert notebooks.differences() == []


def test_an_older_page_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, folder in {"NOTEBOOKS": notebooks.NOTEBOOKS, "PAGES": notebooks.PAGES}.items():
        copy = tmp_path / folder.relative_to(notebooks.ROOT)
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(".*"))
        monkeypatch.setattr(notebooks, name, copy)
    monkeypatch.setattr(notebooks, "ROOT", tmp_path)
    assert notebooks.differences() == []
    changed = tmp_path / "notebooks/03_training_dynamics.ipynb"
    changed.write_text(changed.read_text(encoding="utf-8").replace("window=10", "window=5"), encoding="utf-8")
    (tmp_path / "docs/notebooks/02_diversity_and_selection.md").unlink()
    (tmp_path / "docs/notebooks/stray.png").write_bytes(b"")
    told = notebooks.differences()
    assert "docs/notebooks/02_diversity_and_selection.md is missing" in told
    assert (
        "docs/notebooks/03_training_dynamics.md has other cells than notebooks/03_training_dynamics.ipynb"
        in told
    )
    assert "docs/notebooks/stray.png is on no page" in told


def test_pictures_are_small() -> None:
    assert sum(picture.stat().st_size for picture in notebooks.PAGES.glob("*.png")) < 600_000
