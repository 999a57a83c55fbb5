"""The laptop's base policy made anew at a small scale, with its card, and the one that is shipped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.dataset as ds
import pytest
import yaml

from radrl.data.pretraining_seed import DRAWN_FROM
from radrl.pipelines.base_card.nodes import FACTS, measure_base, write_card
from radrl.pipelines.policy.nodes import make_base_policy
from radrl.policy import folder

SHIPPED = Path("data/06_models/radrl-tiny")


@pytest.fixture
def corpus(make_corpus: Callable[..., ds.Dataset]) -> ds.Dataset:
    return make_corpus(["pretrain", "test"], studies=12)


@pytest.fixture
def made(
    small: dict[str, Any], corpus: ds.Dataset, one_thread: None, tmp_path: Path, silent: Any
) -> tuple[Path, pd.DataFrame]:
    """A base policy in its folder, and its curve."""
    writer, curve = make_base_policy(
        corpus,
        small["policy"],
        "phantom",
        small["ingest"]["image_size"],
        small["prompts"],
        seed=11,
        threads=1,
        device="cpu",
        workspace=tmp_path / "work",
        step_report=silent,
    )
    target = tmp_path / "made"
    target.mkdir()
    writer(target)
    return target, curve


def test_a_base_is_made_measured_and_described(
    small: dict[str, Any], corpus: ds.Dataset, made: tuple[Path, pd.DataFrame]
) -> None:
    base, curve = made
    assert json.loads((base / DRAWN_FROM).read_text()) == {"source": "phantom", "seed": 11}
    fixed = {"seed": 11, "threads": 1, "device": "cpu"}
    numbers = measure_base(corpus, base, small["prompts"], 8, small["labeler"], **fixed)
    assert set(numbers) == {"negatives", "films", "films_asked_to_think", "groups"}
    assert numbers["groups"]["films"] == 12
    assert 0 <= numbers["groups"]["all_zero_share"] <= numbers["groups"]["zero_reward_share"] <= 1
    assert measure_base(corpus, base, small["prompts"], 8, small["labeler"], **fixed) == numbers
    small["ingest"]["phantom"]["studies"] |= {"pretrain": 12, "test": 12}
    text = write_card(base, numbers, curve, small["ingest"], small["policy"], seed=11)
    weights = base / "model.safetensors"
    assert f"md5 `{hashlib.md5(weights.read_bytes()).hexdigest()}`" in text
    assert "| seed | 11;" in text
    assert f"{folder.load(base).model.num_parameters() / 1e6:.2f} M parameters" in text
    assert "Pleural Effusion" in text
    assert "must not be used on any" in text


@pytest.fixture(scope="module")
def recipe(root: Path) -> dict[str, Any]:
    overlay: dict[str, Any] = yaml.safe_load((root / "conf/radrl-tiny/parameters.yml").read_text())
    return overlay


def test_the_shipped_base_is_the_one_of_its_card_and_its_recipe(root: Path, recipe: dict[str, Any]) -> None:
    weights = root / SHIPPED / "model.safetensors"
    card = (root / SHIPPED / "README.md").read_text()
    assert hashlib.md5(weights.read_bytes()).hexdigest() in card
    assert weights.stat().st_size < 12e6
    note = json.loads((root / SHIPPED / DRAWN_FROM).read_text())
    assert note == {"source": "phantom", "seed": recipe["seed"]}
    model = folder.load(root / SHIPPED).model
    assert 1e6 < model.num_parameters() < 3e6
    shape = yaml.safe_load((root / "params.yaml").read_text())["policy"]["tiny"]
    assert model.config.text_config.hidden_size == shape["hidden"]
    assert model.config.vision_config.hidden_size == shape["vision_hidden"]


def test_no_recipe_and_no_study_draws_films_from_its_seed(root: Path, recipe: dict[str, Any]) -> None:
    for file in [root / "params.yaml", *(root / "conf/recipes").glob("*.yaml")]:
        values = yaml.safe_load(file.read_text())
        assert recipe["seed"] not in [values.get("seed"), *values.get("seeds", [])], file.name


def test_the_card_scores_groups_with_facts_as_the_arm_has_it(root: Path) -> None:
    values = yaml.safe_load((root / "params.yaml").read_text())
    assert values["arms"]["orapo"]["reward"]["facts"] == FACTS
