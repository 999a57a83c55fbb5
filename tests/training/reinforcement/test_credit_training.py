"""Credit through whole trainer steps of a policy of some thousand weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from datasets import Dataset
from small_arms import GRADIENT, RULE, Letters

from radrl.credit.build import build
from radrl.labelers.chexbert.labeler import CheXbertLabeler
from radrl.policy import decoding, folder
from radrl.policy.folder import Policy
from radrl.policy.spans import ByteLevelSpans
from radrl.rewards.base import Part, RewardSum
from radrl.rewards.ce_f1 import ClinicalF1
from radrl.training.reinforcement import grpo
from radrl.training.reinforcement.grpo import optimise, prompt_dataset

Run = Callable[..., tuple[Policy, list[dict[str, float]]]]
REFERENCES = [
    "The heart is big.",
    "a",
    "big",
    "is",
    "Is the heart big?",
    "b a",
]  # "a" and "b a" have no label
NAMES = ["mean", "max", "share_above_1", "p10", "p50", "p90", "p99"]


@pytest.fixture(scope="module")
def prompts(films: Callable[..., list[bytes]], prompt: str) -> Dataset:
    return prompt_dataset([(film,) for film in films(6)], REFERENCES, [f"film{i}" for i in range(6)], prompt)


@pytest.fixture
def run(
    policy_folder: Path,
    prompts: Dataset,
    energy: CheXbertLabeler,
    small: dict[str, Any],
    tmp_path: Path,
) -> Run:
    brief = {"rollouts": 4, "learning_rate": 1e-2, "max_new_tokens": 6, "advantage": "none"}
    tokenizer = folder.load(policy_folder).processor.tokenizer

    def train(
        credit: Any, *, reward: Any = None, output: str = "plain", workspace: str = "work", **settings: Any
    ) -> tuple[Policy, list[dict[str, float]]]:
        return optimise(
            folder.load(policy_folder),
            prompts,
            reward=RewardSum([Part(reward or Letters(), 1.0)], output=output),
            credit=build(credit, tokenizer, lambda _: energy),
            settings=small["training"] | brief | settings,
            seed=3,
            workspace=tmp_path / workspace,
        )

    return train


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Every step's batch as the loss sees it, with its rows and the texts that were rewarded."""
    seen: list[dict[str, Any]] = []

    class Noting(grpo.ReportGRPOTrainer):
        def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
            batch = super()._generate_and_score_completions(inputs)
            texts = self.processing_class.batch_decode(batch["completion_ids"], skip_special_tokens=True)
            seen.append({**batch, "texts": texts, "references": [row["reference"] for row in inputs]})
            return batch

    monkeypatch.setattr(grpo, "ReportGRPOTrainer", Noting)
    return seen


def plain_advantages(texts: Sequence[str]) -> list[float]:
    """Rewards less their group's mean."""
    rewards = np.array(Letters()(texts, texts, texts)).reshape(-1, 4)
    advantages: list[float] = (rewards - rewards.mean(axis=1, keepdims=True)).reshape(-1).tolist()
    return advantages


def expected(step: dict[str, Any], weight: Callable[[int, int], float]) -> np.ndarray:
    """Advantage times weight(rollout, token), at every token that was written."""
    wanted = np.zeros(step["completion_ids"].shape)
    for i, advantage in enumerate(plain_advantages(step["texts"])):
        for t in range(int(step["completion_mask"][i].sum())):
            wanted[i, t] = advantage * weight(i, t)
    return wanted


def check(step: dict[str, Any], wanted: np.ndarray) -> None:
    assert step["advantages"].dtype == torch.float32
    found = (step["advantages"] * step["completion_mask"]).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_tf_idf_weights_reach_the_loss(run: Run, steps: list[dict[str, Any]], policy: Policy) -> None:
    special = set(policy.processor.tokenizer.all_special_ids)
    run(RULE, steps=2)
    for step in steps:
        rows = [
            [int(x) for x in ids[: int(mask.sum())]]
            for ids, mask in zip(step["completion_ids"], step["completion_mask"], strict=True)
        ]

        def weight(i: int, t: int, rows: list[list[int]] = rows) -> float:
            group = rows[i // 4 * 4 : i // 4 * 4 + 4]
            token, words = rows[i][t], [x for x in rows[i] if x not in special]
            if token in special:
                return 1.0
            holders = sum(token in row for row in group)
            return 1 + 4 * words.count(token) / len(words) * log(4 / holders)

        wanted = expected(step, weight)
        check(step, wanted)
        assert np.abs(wanted).max() > 1.5 * max(map(abs, plain_advantages(step["texts"])))


def test_gradient_weights_reach_the_loss(
    run: Run, steps: list[dict[str, Any]], policy: Policy, energy: CheXbertLabeler
) -> None:
    """s of a character is |E| of the labeler's token there, times 4, 3 or 0: the strengths of the targets."""
    spans = ByteLevelSpans(policy.processor.tokenizer)
    model: Any = energy.model
    norms = model.words.weight.norm(dim=1).tolist()
    strengths = {"The heart is big.": 4, "Is the heart big?": 4, "is": 4, "big": 3, "a": 0, "b a": 0}
    run(GRADIENT, steps=3)
    above = 0
    for step in steps:
        saliency: list[np.ndarray] = []
        for text, reference in zip(step["texts"], step["references"], strict=True):
            [read] = energy.encode([text])
            saliency.append(np.zeros(len(text)))
            for number, (start, end) in zip(read.ids[1:-1], read.spans, strict=True):
                saliency[-1][start:end] = norms[number] * strengths[reference]
        places = [
            spans.locate(ids[: int(mask.sum())].tolist()).spans
            for ids, mask in zip(step["completion_ids"], step["completion_mask"], strict=True)
        ]

        def weight(i: int, t: int, saliency: Any = saliency, places: Any = places) -> float:
            start, end = places[i][t]
            return 1 + 0.5 * float(max(saliency[i][start:end], default=0.0))

        check(step, expected(step, weight))
        above += sum(weight(i, t) > 1 for i, own in enumerate(places) for t in range(len(own)))
    assert above > 20


@pytest.mark.parametrize("credit", [GRADIENT, "uniform"], ids=["gradient", "uniform"])
def test_reward_asks_the_labeler_for_nothing_more(run: Run, energy: CheXbertLabeler, credit: Any) -> None:
    model: Any = energy.model
    forwards: list[int] = []

    class Counting(ClinicalF1):
        def __call__(self, *texts: Any) -> Any:
            before = len(model.read)
            scores = super().__call__(*texts)
            forwards.append(len(model.read) - before)
            return scores

    run(credit, reward=Counting(energy, uncertain_as_positive=False, both_empty=1.0), steps=3)
    assert len(forwards) == 3
    assert model.read
    assert all(count == 0 if credit == GRADIENT else count > 0 for count in forwards)


def test_weights_are_in_the_curve_and_uniform_adds_nothing(run: Run) -> None:
    _, curve = run(RULE, steps=2)
    _, plain = run("uniform", steps=2, workspace="uniform")
    added = [f"credit/weight_{name}" for name in NAMES]
    for row, other in zip(curve, plain, strict=True):
        assert row.keys() - other.keys() == set(added)
        mean, most, share, *quantiles = (row[name] for name in added)
        assert 1 < mean < most
        assert 0 < share <= 1
        assert [1.0, *quantiles, most] == sorted([1.0, *quantiles, most])


@pytest.mark.parametrize(
    ("credit", "output"),
    [
        ({"tf_idf": RULE["tf_idf"] | {"alpha": 0.0}}, "plain"),
        (RULE, "think_report"),
        (GRADIENT, "think_report"),
    ],
    ids=["no strength", "no report for the rule", "no report for gradients"],
)
def test_weights_of_1_train_as_uniform_credit(
    run: Run, weights: Callable[[Any], Any], same: Callable[..., bool], credit: Any, output: str
) -> None:
    """An untrained policy writes no <report>, and only its tokens may weigh more."""

    class OfOutput(Letters):
        reads: Literal["report", "output"] = "output"

    trained, curve = run(credit, reward=OfOutput(), output=output, steps=2)
    uniform, _ = run("uniform", reward=OfOutput(), output=output, steps=2, workspace="uniform")
    assert same(weights(trained), weights(uniform))
    assert {row["credit/weight_max"] for row in curve} == {1.0}


@pytest.mark.parametrize("credit", [RULE, GRADIENT], ids=["tf_idf", "gradient"])
@pytest.mark.parametrize("settings", [{}, {"rollouts_at_once": 4, "iterations": 2}], ids=["once", "twice"])
def test_killed_and_resumed_is_as_never_stopped(
    run: Run,
    weights: Callable[[Any], Any],
    same: Callable[..., bool],
    killed_after: Callable[..., Any],
    credit: Any,
    settings: dict[str, Any],
) -> None:
    unbroken, curve = run(credit, workspace="unbroken", **settings)
    with killed_after(grpo, step=2):
        run(credit, workspace="killed", **settings)
    resumed, resumed_curve = run(credit, workspace="killed", **settings)
    assert same(weights(resumed), weights(unbroken))
    assert resumed_curve == curve


@pytest.fixture
def draws(monkeypatch: pytest.MonkeyPatch) -> list[torch.Tensor]:
    """What the rollouts of every step are drawn by."""
    seen: list[torch.Tensor] = []

    def noting(*given: Any) -> torch.Tensor | None:
        found = plain(*given)
        if found is not None:
            seen.append(found)
        return found

    plain = decoding._numbers
    monkeypatch.setattr(decoding, "_numbers", noting)
    return seen


def test_arms_of_one_seed_draw_their_rollouts_of_the_same_films_by_the_same_numbers(
    run: Run, steps: list[dict[str, Any]], draws: list[torch.Tensor]
) -> None:
    for name, credit in (("plain", "uniform"), ("rule", RULE), ("gradient", GRADIENT)):
        run(credit, workspace=name, steps=3)
    count = len(draws) // 3
    assert count >= 3
    first = draws[:count]
    for arm in (draws[count : 2 * count], draws[2 * count :]):
        assert all(torch.equal(own, other) for own, other in zip(first, arm, strict=True))
    assert not torch.equal(first[0], first[-1])
    films = [step["references"] for step in steps]
    assert films[: len(films) // 3] * 3 == films
    # the first step's policy is the start in all arms: the rollouts themselves are the same
    assert steps[0]["texts"] == steps[len(films) // 3]["texts"] == steps[2 * len(films) // 3]["texts"]
