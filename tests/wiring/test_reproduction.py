"""Which parts params.yaml names for a stage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from radrl.parts.find import PartError
from radrl.wiring.reproduction import named_parts

FACTS = {"weight": 1.0, "extractor": "judge", "entailment": "rules", "judge": {"backend": "folder"}}
GRADIENT = {"gradient": {"labeler": "chexbert_compact"}}


@pytest.fixture
def params() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((Path(__file__).parents[2] / "params.yaml").read_text())
    return read


def names(stage: str, params: dict[str, Any], key: str | None = None) -> set[str]:
    return {f"{part.kind.name} {part.name}" for part in named_parts(stage, params, key)}


def test_parts_that_are_asked_in_turn_are_named_too(params: dict[str, Any]) -> None:
    params["arms"]["grpo"] |= {"reward": {"facts": FACTS}, "credit": GRADIENT}
    assert names("train", params, "grpo") == {
        "reward facts",
        "extractor judge",
        "entailment rules",
        "judge folder",
        "credit gradient",
        "labeler chexbert_compact",
        "labeler rules",
    }


def test_an_arm_that_does_not_train_names_none(params: dict[str, Any]) -> None:
    assert names("train", params, "base") == set()
    assert names("generate", params, "grpo") == set()


def test_a_part_set_to_nothing_is_not_named(params: dict[str, Any]) -> None:
    params["arms"]["grpo"]["reward"]["bleu2"] = None
    assert "reward bleu2" not in names("train", params, "grpo")


def test_the_order_of_keys_is_no_other_code(params: dict[str, Any]) -> None:
    before = named_parts("train", params, "grpo")
    reward = params["arms"]["grpo"]["reward"]
    params["arms"]["grpo"]["reward"] = dict(reversed(reward.items()))
    assert named_parts("train", params, "grpo") == before


def test_a_part_that_is_not_there_is_refused_with_its_key(params: dict[str, Any]) -> None:
    params["arms"]["grpo"]["credit"] = {"gradiant": {}}
    with pytest.raises(PartError, match=r"arms\.grpo\.credit\.gradiant: no credit 'gradiant'; did you mean"):
        named_parts("train", params, "grpo")


def test_the_other_hospitals_source_is_code_of_ingest_too(params: dict[str, Any]) -> None:
    assert names("ingest", params) == {"source phantom"}
    params["ingest"]["away"] = {"source": "csv", "split": None, "set": {}}
    assert names("ingest", params) == {"source phantom", "source csv"}
    params["ingest"]["away"]["source"] = "phantom"
    assert names("ingest", params) == {"source phantom"}
