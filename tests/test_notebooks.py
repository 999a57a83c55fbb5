"""The notebooks: all their cells run on what a smoke run left, and their pages are of them."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import notebooks as pages
import pandas as pd
import pytest
from small_arms import train_inputs, train_stage

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = pages.paths()
NAMES = [path.stem for path in NOTEBOOKS]
OWN = "my_rewards"


def cells(notebook: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == "code"]


@pytest.fixture
def run(smoke: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a notebook's cells in this process, as a kernel that is started in its folder would."""
    monkeypatch.setenv("RADRL_DATA", str(smoke.resolve()))
    monkeypatch.setenv("RADRL_OWN", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, OWN, raising=False)

    def through(name: str) -> dict[str, Any]:
        (notebook,) = (path for path in NOTEBOOKS if path.stem.endswith(name))
        monkeypatch.chdir(notebook.parent)
        return names_of(notebook, tmp_path)

    yield through
    sys.modules.pop(OWN, None)


def names_of(notebook: Path, own: Path) -> dict[str, Any]:
    """The names that a notebook's cells leave, and how many pictures they drew."""
    names: dict[str, Any] = {}
    with mpl.rc_context():
        for cell in cells(notebook):
            first, _, rest = "".join(cell["source"]).partition("\n")
            if first.startswith("%%writefile $own/"):
                (own / first.removeprefix("%%writefile $own/")).write_text(rest, encoding="utf-8")
            else:
                exec(f"{first}\n{rest}", names)
        names["pictures"] = len(plt.get_fignums())
        plt.close("all")
    return names


def test_data_and_labels(run: Any) -> None:
    names = run("data_and_labels")
    assert names["pictures"] == 3
    assert all(panel.get_title().endswith(" (drawn)") for panel in names["panels"])
    assert len(names["labels"]) == names["summary"]["splits"]["train"] == len(names["films"])
    assert names["shares"].sum(axis=1).round(9).eq(1).all()


def test_diversity_and_selection(run: Any) -> None:
    names = run("diversity_and_selection")
    assert names["pictures"] == 3
    assert {"full", "ddsampling", "balanced"} <= {*names["subsets"]}
    assert set(names["pools"]["pool"]) >= {"full", "ddsampling"}


def test_training_dynamics(run: Any, smoke: Path) -> None:
    names = run("training_dynamics")
    assert names["pictures"] == 2
    grpo = pd.read_csv(smoke / "08_reporting/training/arms/grpo.csv")
    assert names["histories"]["grpo"]["reward"].dropna().tolist() == grpo["reward"].dropna().tolist() != []
    assert "sft" not in names["histories"]  # its row is the start of the others: nothing trains


def test_comparing_arms(run: Any, smoke: Path) -> None:
    names = run("comparing_arms")
    assert names["pictures"] == 4
    compared = pd.read_csv(smoke / "08_reporting/comparison/comparison.csv")
    assert list(names["values"].index) == list(dict.fromkeys(compared["arm"]))
    assert names["values"].notna().to_numpy().any(axis=1).all()


def test_your_own_reward(run: Any) -> None:
    """By hand: the right side, the wrong one, two where one is asked for, none."""
    names = run("your_own_reward")
    assert names["hand"]["sides"].round(3).tolist() == [1.0, 0.0, 0.667, 0.0, 0.0]
    assert names["parts"]["sides"]["part"] == f"{OWN}:sides"
    assert len(names["scores"]) == len(names["rollouts"])


def test_the_reward_of_the_notebook_trains_an_arm(
    run: Any, small: dict[str, Any], make_corpus: Any, policy_folder: Path, tmp_path: Path
) -> None:
    arm = run("your_own_reward")["arm"]
    small["training"]["steps"] = 2
    corpus = make_corpus(["train", "test"], studies=12)
    inputs = train_inputs(small, corpus, policy_folder, tmp_path, reward=arm["reward"])
    _, history = train_stage(**inputs, step_report=lambda step, numbers: None)
    worth = history["rewards/sides/mean"].dropna()
    assert len(worth) == 2
    assert worth.between(0, 1).all()


def test_rewards_in_trl(one_thread: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It needs no smoke run. By hand: the reference, its opposite in the same words, nothing."""
    (notebook,) = (path for path in NOTEBOOKS if path.stem.endswith("rewards_in_trl"))
    monkeypatch.chdir(notebook.parent)
    names = names_of(notebook, tmp_path)
    assert names["pictures"] == 1
    truth, by_hand = names["truth"], names["by_hand"]
    assert names["clinical"](None, by_hand, reference=[truth] * 3) == [1.0, 0.0, 0.0]
    assert len(names["history"]) == 5
    assert all(0 <= step["rewards/ce_f1/mean"] <= 1 for step in names["history"])


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=NAMES)
def test_it_is_kept_without_outputs(notebook: Path) -> None:
    assert [cell["outputs"] for cell in cells(notebook) if cell["outputs"] or cell["execution_count"]] == []


def test_pages_are_those_of_the_notebooks() -> None:
    assert pages.differences() == []


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, folder in (("NOTEBOOKS", "notebooks"), ("PAGES", "docs/notebooks")):
        shutil.copytree(ROOT / folder, tmp_path / folder)
        monkeypatch.setattr(pages, name, tmp_path / folder)
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    return tmp_path


def test_a_page_is_older_than_its_notebook(copied: Path) -> None:
    notebook = copied / "notebooks" / NOTEBOOKS[0].name
    notebook.write_text(
        notebook.read_text(encoding="utf-8").replace("import io", "import io, os"), encoding="utf-8"
    )
    (said,) = pages.differences()
    assert said == f"docs/notebooks/{NAMES[0]}.md has other cells than notebooks/{NAMES[0]}.ipynb"


def test_a_page_or_a_picture_without_a_notebook_is_found(copied: Path) -> None:
    (copied / "notebooks" / NOTEBOOKS[0].name).unlink()
    (copied / "docs/notebooks/stray.png").touch()
    said = pages.differences()
    assert said == [f"docs/notebooks/{NAMES[0]}.md has no notebook", "docs/notebooks/stray.png is on no page"]


def test_pictures_of_all_pages_are_small() -> None:
    assert 0 < sum(picture.stat().st_size for picture in pages.PAGES.glob("*.png")) < 600_000


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=NAMES)
def test_a_kernel_runs_it_and_its_page_has_the_pictures(notebook: Path, smoke: Path, tmp_path: Path) -> None:
    for package in ("nbclient", "nbconvert", "ipykernel"):
        pytest.importorskip(package, reason="needs the extra notebooks: pip install -e '.[notebooks]'")
    made = pages.page(pages.run(notebook, smoke, tmp_path), notebook.name)
    assert made.text.count(pages.CAPTION) == len(made.pictures) > 0
    assert all(f"({name})" in made.text for name in made.pictures)
