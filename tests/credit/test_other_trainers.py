"""Weights of tokens for other trainers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import radrl
from radrl.credit.other_trainers import DEFAULTS, TokenCredit
from radrl.credit.uniform import Uniform
from radrl.parts.builtin import BUILTIN

ROOT = Path(__file__).parents[2]
REPORTS = ["No effusion.", "Small effusion."]


@pytest.fixture(scope="module")
def tokenizer(policy_folder: Path) -> Any:
    return radrl.load_policy(policy_folder).processor.tokenizer


def test_defaults_are_those_of_the_shipped_study() -> None:
    analyses = yaml.safe_load((ROOT / "params.yaml").read_text())["analyses"]["credit"]
    assert {
        name: {k: v for k, v in own.items() if k != "labeler"} for name, own in analyses.items()
    } == DEFAULTS
    assert radrl.credit.names()[: len(BUILTIN["credit"])] == [*BUILTIN["credit"]]


def test_tf_idf_by_hand(tokenizer: Any) -> None:
    ids = [[10, 11, 11], [10, 12]]
    words = tokenizer.convert_ids_to_tokens([10, 11, 12])
    assert len({*words}) == 3
    weights = radrl.credit.get("tf_idf", tokenizer, alpha=3.0)(ids, group=2)
    # idf = ln(2 / 1) of what one rollout has, 0 of what both have; tf is the share of the rollout's tokens
    rare, lone = 1 + 3 * np.log(2) * 2 / 3, 1 + 3 * np.log(2) / 2
    np.testing.assert_allclose(weights[0], [1, rare, rare])
    np.testing.assert_allclose(weights[1], [1, lone])


def test_uniform_leaves_every_token_alone(tokenizer: Any) -> None:
    ids = tokenizer(REPORTS)["input_ids"]
    weights = radrl.credit.get("uniform", tokenizer)(ids, group=2)
    assert [own.tolist() for own in weights] == [[1.0] * len(own) for own in ids]


def test_a_processor_will_do(policy: Any) -> None:
    ids = policy.processor.tokenizer(REPORTS)["input_ids"]
    of_both = [
        radrl.credit.get("tf_idf", one)(ids, group=2)
        for one in (policy.processor, policy.processor.tokenizer)
    ]
    assert [own.tolist() for own in of_both[0]] == [own.tolist() for own in of_both[1]]


MISTAKES: list[tuple[Callable[[Any], Any], str]] = [
    (lambda given: radrl.credit.get("tfidf", given), "name: no credit 'tfidf'; did you mean 'tf_idf'"),
    (
        lambda given: radrl.credit.get("tf_idf", given, alfa=1.0),
        "tf_idf has no setting 'alfa'; did you mean 'alpha'",
    ),
    (
        lambda given: radrl.credit.get("tf_idf", given, alpha=-1.0),
        "credit tf_idf: alpha is -1.0: .*greater than",
    ),
    (lambda given: radrl.credit.get("tf_idf", given, output="report"), "output is 'report'"),
    (lambda given: radrl.credit.get("gradient", given), "credit gradient reads with a labeler"),
    (
        lambda given: radrl.credit.get("gradient", given, labeler=radrl.load_labeler()),
        "labeler is 'rules': rules have no gradients",
    ),
    (
        lambda given: radrl.credit.get("tf_idf", given)([[10], [11]], group=3),
        "group is 3, but completion_ids has 2",
    ),
    (
        lambda given: radrl.credit.get("tf_idf", given)([[10], [11]], group=2, references=["a"]),
        "completion_ids has 2, references has 1",
    ),
    (
        lambda given: TokenCredit("gradient", Uniform(), given, "plain")([[10], [11]], group=2),
        "credit gradient reads references: give references=",
    ),
]


@pytest.mark.parametrize(("call", "said"), MISTAKES, ids=[said for _, said in MISTAKES])
def test_a_mistake_is_named_with_what_would_be_right(
    call: Callable[[Any], Any], said: str, tokenizer: Any
) -> None:
    with pytest.raises(ValueError, match=said):
        call(tokenizer)
