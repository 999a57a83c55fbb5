"""Group-relative policy optimisation on a policy of some thousand weights."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from datasets import Dataset
from small_arms import TRAINING
from trl import GRPOConfig

from radrl.algorithms.advantages import group_relative_advantages
from radrl.credit.base import TokenWeights, by_token
from radrl.credit.uniform import Uniform
from radrl.labelers.rules.labeler import RulesLabeler
from radrl.policy import folder
from radrl.policy.folder import Policy
from radrl.rewards.base import Part, RewardError, RewardSum
from radrl.rewards.build import build
from radrl.training.preflight import SettingsError
from radrl.training.reinforcement import grpo, trainer
from radrl.training.reinforcement.grpo import optimise, prompt_dataset

Run = Callable[..., tuple[Policy, list[dict[str, float]]]]
TARGETS = [f"model.language_model.layers.*.self_attn.{one}_proj" for one in "qv"]
SETTINGS = TRAINING | {"lora": {"rank": 4, "alpha": 8, "dropout": 0.1, "targets": TARGETS}}


class Scores:
    """A reward that a function stands for."""

    clinical = True
    reads: Literal["report", "output"] = "report"

    def __init__(self, score: Callable[[str], float], name: str = "part") -> None:
        self.score, self.name = score, name
        self.told: dict[str, float] = {}

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> list[float]:
        return [self.score(report) for report in reports]


def part(score: Callable[[str], float], name: str = "part", weight: float = 1.0, **settings: Any) -> Part:
    return Part(Scores(score, name), weight, **settings)


def letters(report: str) -> float:
    """Differs between any two rollouts of an untrained policy."""
    return sum(map(ord, report)) % 97 / 97


LETTERS = RewardSum([part(letters)])


@pytest.fixture
def run(policy_folder: Path, prompts: Dataset, tmp_path: Path) -> Run:
    def train(
        *, reward: RewardSum = LETTERS, seed: int = 3, workspace: str = "work", **settings: Any
    ) -> tuple[Policy, list[dict[str, float]]]:
        return optimise(
            folder.load(policy_folder),
            prompts,
            reward=reward,
            credit=Uniform(),
            settings=SETTINGS | settings,
            seed=seed,
            workspace=tmp_path / workspace,
        )

    return train


@pytest.fixture
def spied(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    """Every step's advantages (B,) and what they become by token (B, T)."""
    seen: list[tuple[Any, Any]] = []

    def spy(advantages: Any, weights: TokenWeights | None, width: int) -> Any:
        spread = by_token(advantages, weights, width)
        seen.append((advantages, spread))
        return spread

    monkeypatch.setattr(trainer, "by_token", spy)
    return seen


@pytest.mark.parametrize("convention", ["trl", "population", "none"])
def test_advantages_are_the_groups_own_in_the_named_convention(
    run: Run, spied: list[tuple[Any, Any]], convention: Any
) -> None:
    given: list[float] = []

    def remembered(report: str) -> float:
        given.append(letters(report))
        return given[-1]

    run(reward=RewardSum([part(remembered, weight=0.5)]), advantage=convention, steps=2)
    rewards = 0.5 * np.array(given).reshape(2, 2, 4)  # (steps, prompts, G)
    expected = group_relative_advantages(rewards, convention=convention).reshape(2, -1)
    for (advantages, spread), row in zip(spied, expected, strict=True):
        np.testing.assert_allclose(advantages, row, rtol=1e-4, atol=1e-6)
        assert spread.shape[0] == 8
        assert bool((spread == advantages[:, None]).all())


def test_rollouts_of_a_group_answer_the_same_film(run: Run) -> None:
    asked: list[Sequence[str]] = []

    class Noting(Scores):
        def __call__(
            self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
        ) -> list[float]:
            asked.append(references)
            return super().__call__(reports, references, sample_ids)

    run(reward=RewardSum([Part(Noting(letters), 1.0)]), steps=3)
    groups = [tuple(references[i : i + 4]) for references in asked for i in (0, 4)]
    assert all(len(set(group)) == 1 for group in groups)
    assert len({group[0] for group in groups}) == 6  # three steps of two films see each of six films once


def test_studies_of_several_films_train(
    policy_folder: Path,
    films: Callable[..., list[bytes]],
    texts: Callable[[int], list[str]],
    prompt: str,
    tmp_path: Path,
) -> None:
    pictures = films(9)
    studies = [pictures[:2], *([film] for film in pictures[2:5]), pictures[5:7], pictures[7:]]
    prompts = prompt_dataset(studies, texts(6), [f"s{i}" for i in range(6)], prompt)

    def train(workspace: str, steps: int) -> Policy:
        return optimise(
            folder.load(policy_folder),
            prompts,
            reward=LETTERS,
            credit=Uniform(),
            settings=SETTINGS | {"steps": steps, "checkpoint_every": 1},
            seed=3,
            workspace=tmp_path / workspace,
        )[0]

    unbroken = train("whole", 2).model.state_dict()
    before = folder.load(policy_folder).model.state_dict()
    assert any(not torch.equal(before[name], weight) for name, weight in unbroken.items())


def test_equal_rewards_move_nothing_without_kl(
    run: Run, weights: Callable[[Any], Any], same: Callable[..., bool], policy_folder: Path
) -> None:
    trained, curve = run(reward=RewardSum([part(lambda _: 0.1)]), kl=0.0)
    assert same(weights(trained), weights(policy_folder))
    assert {row["grad_norm"] for row in curve} == {0.0}
    assert {row["loss"] for row in curve} == {0.0}
    assert {row["groups/zero_variance_share"] for row in curve} == {1.0}
    assert {row["groups/all_zero_share"] for row in curve} == {0.0}


def test_groups_are_counted_by_clinical_parts_alone(run: Run) -> None:
    findings, wording = part(lambda _: 0.0, "findings"), Scores(letters, "wording")
    wording.clinical = False
    phased = RewardSum([findings, Part(wording, 1.0, phase_switch=0.5)])
    _, curve = run(reward=phased)
    assert [row["reward"] > 0 for row in curve] == [False, False, True, True]
    for row in curve:
        assert row["groups/zero_reward_share"] == row["groups/all_zero_share"] == 1
        assert row["groups/zero_variance_share"] == row["groups/unique_rewards"] == 1
    assert [row["groups/equal_advantage_share"] for row in curve] == [1, 1, 0, 0]


def test_rewards_of_params_train_and_their_numbers_stand_in_the_curve(run: Run) -> None:
    named = {
        "radgraph_rules": {"weight": 0.5, "beta": 2.0},
        "green_rules": {"weight": 0.5},
        "length": {"weight": 0.25},
    }
    reward = build(named, RulesLabeler())
    _, curve = run(reward=reward, steps=1)
    assert all(0 <= curve[0][f"rewards/{name}/mean"] <= 1 for name in named)
    assert curve[0]["rewards/length/words"] > 0
    assert curve[0]["rewards/green_rules/missing_finding"] >= 0


def test_groups_of_a_reward_without_a_clinical_part_are_counted_as_a_whole(run: Run) -> None:
    form = Scores(letters, "form")
    form.clinical = False
    _, curve = run(reward=RewardSum([Part(form, 1.0)]), steps=1)
    assert curve[0]["groups/zero_variance_share"] == curve[0]["groups/equal_advantage_share"] == 0
    assert curve[0]["groups/unique_rewards"] > 1


def test_training_raises_the_reward_it_is_given(run: Run) -> None:
    def no_e(report: str) -> float:
        return float("e" not in report)

    _, curve = run(reward=RewardSum([part(no_e)]), steps=25, kl=0.0, learning_rate=2e-2, checkpoint_every=50)
    rewards = [row["reward"] for row in curve]
    assert np.mean(rewards[-8:]) > np.mean(rewards[:8]) + 0.1


def test_parts_are_logged_apart_and_weighted_in_the_sum(run: Run) -> None:
    parts = [part(letters, "one", 1.0), part(lambda report: 2 * letters(report), "two", 0.25)]
    _, curve = run(reward=RewardSum(parts), steps=1)
    (row,) = curve
    assert row["rewards/two/mean"] == pytest.approx(2 * row["rewards/one/mean"])
    assert row["reward"] == pytest.approx(1.5 * row["rewards/one/mean"])
    assert not [name for name in row if name.endswith(("/weight", "/missing_share"))]


def test_what_a_part_tells_is_in_the_curve(run: Run) -> None:
    telling = Scores(letters)
    telling.told = {"blank_share": 0.25}
    _, curve = run(reward=RewardSum([Part(telling, 1.0)]), steps=2)
    assert [row["rewards/part/blank_share"] for row in curve] == [0.25, 0.25]


def phased(switch: float) -> RewardSum:
    """Two parts that speak against one another; the second begins to count at the switch."""
    second = part(lambda report: 1 - letters(report), "two", 3.0, phase_switch=switch)
    return RewardSum([part(letters, "one"), second])


@pytest.mark.parametrize("settings", [{}, {"rollouts_at_once": 4}], ids=["whole", "in two"])
def test_a_parts_weight_changes_at_its_share_of_the_steps(
    run: Run, spied: list[tuple[Any, Any]], settings: dict[str, int]
) -> None:
    given: list[float] = []

    def remembered(report: str) -> float:
        given.append(letters(report))
        return given[-1]

    reward = phased(0.5)
    reward.parts[0] = part(remembered, "one")
    _, curve = run(reward=reward, advantage="none", **settings)
    assert [row["rewards/two/weight"] for row in curve] == [0.0, 0.0, 3.0, 3.0]
    one = np.array(given).reshape(4, 2, 4)  # (steps, prompts, G)
    slope = np.array([1, 1, -2, -2]).reshape(4, 1, 1)  # one + 3 (1 - one)
    expected = slope * (one - one.mean(axis=-1, keepdims=True))
    for (advantages, _), row in zip(spied, expected.reshape(4, -1), strict=True):
        np.testing.assert_allclose(advantages, row, atol=1e-6)
    for row, scores in zip(curve, one, strict=True):
        total = scores + row["rewards/two/weight"] * (1 - scores)
        assert row["reward"] == pytest.approx(total.mean())


@pytest.mark.parametrize("switch", [0.5, 0.75])
def test_killed_and_resumed_run_is_in_the_phase_of_the_unbroken_one(
    run: Run,
    weights: Callable[[Any], Any],
    same: Callable[..., bool],
    killed_after: Callable[..., Any],
    switch: float,
) -> None:
    unbroken, curve = run(reward=phased(switch), workspace="unbroken")
    with killed_after(grpo, step=2):
        run(reward=phased(switch), workspace="killed")
    resumed, resumed_curve = run(reward=phased(switch), workspace="killed")
    assert [row["rewards/two/weight"] for row in resumed_curve] == [0, 0, 3 * (switch == 0.5), 3]
    assert same(weights(resumed), weights(unbroken))
    assert resumed_curve == curve


class Holes:
    """Scores by `letters`, but for every third report, which has none."""

    def __init__(self) -> None:
        self.given: list[float] = []

    def __call__(self, report: str) -> float:
        self.given.append(float("nan") if len(self.given) % 3 == 0 else letters(report))
        return self.given[-1]


def test_report_without_any_score_has_no_advantage_and_no_say(run: Run, spied: list[tuple[Any, Any]]) -> None:
    holes = Holes()
    _, curve = run(reward=RewardSum([part(holes, missing="skip")]), advantage="none", steps=2)
    given = np.array(holes.given).reshape(2, 2, 4)
    expected = np.nan_to_num(given - np.nanmean(given, axis=-1, keepdims=True), nan=0.0)
    for (advantages, _), row in zip(spied, expected.reshape(2, -1), strict=True):
        np.testing.assert_allclose(advantages, row, atol=1e-6)
    for row, scores in zip(curve, given, strict=True):
        assert row["rewards/part/missing_share"] == pytest.approx(np.isnan(scores).mean())
        assert row["reward"] == pytest.approx(np.nanmean(scores))
        assert row["reward_std"] == pytest.approx(np.nanstd(scores, ddof=1))
        assert np.isfinite(row["loss"])


def test_reports_without_a_score_are_not_printed(
    run: Run, caplog: pytest.LogCaptureFixture, texts: Callable[[int], list[str]]
) -> None:
    logger = logging.getLogger("trl.trainer.grpo_trainer")
    logger.addHandler(caplog.handler)
    try:
        run(reward=RewardSum([part(Holes(), missing="skip")]), steps=1)
        logger.warning("spoken again afterwards")
    finally:
        logger.removeHandler(caplog.handler)
    assert "spoken again afterwards" in caplog.text
    assert not [text for text in texts(6) if text in caplog.text]  # TRL warns with reference and report


def test_missing_part_counts_as_the_groups_mean_beside_the_other_parts(
    run: Run, spied: list[tuple[Any, Any]]
) -> None:
    one: list[float] = []

    def remembered(report: str) -> float:
        one.append(letters(report))
        return one[-1]

    holes = Holes()
    parts = [part(remembered, "one"), part(holes, "two", 0.5, missing="skip")]
    _, curve = run(reward=RewardSum(parts), advantage="none", steps=1)
    first, second = np.array(one).reshape(2, 4), np.array(holes.given).reshape(2, 4)
    second = np.where(np.isnan(second), np.nanmean(second, axis=-1, keepdims=True), second)
    total = first + 0.5 * second
    ((advantages, _),) = spied
    expected = total - total.mean(axis=-1, keepdims=True)
    np.testing.assert_allclose(advantages, expected.reshape(-1), atol=1e-6)
    assert curve[0]["reward"] == pytest.approx(total.mean())


def test_group_without_any_score_moves_nothing(
    run: Run, weights: Callable[[Any], Any], same: Callable[..., bool], policy_folder: Path
) -> None:
    nothing = RewardSum([part(lambda _: float("nan"), missing="skip")])
    trained, curve = run(reward=nothing, kl=0.0, steps=2)
    assert same(weights(trained), weights(policy_folder))
    assert {row["groups/zero_variance_share"] for row in curve} == {1.0}
    assert {row["groups/all_zero_share"] for row in curve} == {0.0}
    assert {row["groups/zero_reward_share"] for row in curve} == {0.0}
    assert {row["rewards/part/missing_share"] for row in curve} == {1.0}


def test_broken_reward_stops_training_and_names_the_film(run: Run) -> None:
    with pytest.raises(RewardError, match=r"reward part is nan for film film\d;"):
        run(reward=RewardSum([part(lambda _: float("nan"))]))


def test_epochs_are_steps_of_the_films_there_are(run: Run) -> None:
    _, curve = run(steps=None, epochs=1.5, prompts_per_step=2, iterations=2)  # 6 films: 4.5 batches
    assert len(curve) == 10


def test_subset_smaller_than_a_step_is_refused(run: Run) -> None:
    with pytest.raises(SettingsError, match=r"has 6 films, a step takes 7; lower training\.prompts_per_step"):
        run(prompts_per_step=7)


@pytest.mark.parametrize("tunes", ["vision", "lora"])
def test_weights_that_do_not_train_stay(
    run: Run, weights: Callable[[Any], Any], policy_folder: Path, tunes: str
) -> None:
    trained, _ = run(tunes=tunes, steps=1)
    before, after = weights(policy_folder), weights(trained)
    moved = {name for name in before if not bool((before[name] == after[name]).all())}
    assert before.keys() == after.keys()
    assert moved
    inside = (
        (lambda name: name.startswith("model.visual."))
        if tunes == "vision"
        else (lambda name: "_proj" in name)
    )
    assert all(inside(name) for name in moved)


def test_same_seed_same_weights_and_another_seed_others(
    run: Run, weights: Callable[[Any], Any], same: Callable[..., bool]
) -> None:
    def trained(seed: int, workspace: str) -> Any:
        torch.manual_seed(len(workspace))  # what ran before must not matter
        return weights(run(seed=seed, steps=2, workspace=workspace)[0])

    first = trained(3, "a")
    assert same(trained(3, "again"), first)
    assert not same(trained(4, "other"), first)


@pytest.mark.parametrize(
    "settings",
    [{}, {"tunes": "lora"}, {"rollouts_at_once": 4, "iterations": 2}, {"prompts_per_step": 5}],
    ids=["full", "lora", "rollouts used twice", "an epoch a step"],
)
def test_killed_and_resumed_is_as_never_stopped(
    run: Run,
    weights: Callable[[Any], Any],
    same: Callable[..., bool],
    killed_after: Callable[..., Any],
    settings: dict[str, Any],
) -> None:
    unbroken, curve = run(workspace="unbroken", **settings)
    with killed_after(grpo, step=2):
        run(workspace="killed", **settings)
    resumed, resumed_curve = run(workspace="killed", **settings)
    assert same(weights(resumed), weights(unbroken))
    assert resumed_curve == curve


def test_curve_has_a_row_a_step_and_no_clock(run: Run) -> None:
    _, curve = run(steps=2)
    assert [row["step"] for row in curve] == [1, 2]
    assert {"reward", "kl", "loss", "groups/zero_variance_share"} <= set(curve[0])
    assert not [key for key in set().union(*curve) if "time" in key or "second" in key or "num_tokens" in key]


# What the papers state or TRL has changed between releases; the others have no part in the numbers here.
STATED = """
    beta temperature loss_type epsilon epsilon_high delta top_p top_k min_p repetition_penalty
    scale_rewards num_generations num_iterations steps_per_generation per_device_train_batch_size
    gradient_accumulation_steps learning_rate lr_scheduler_type warmup_steps adam_beta1 adam_beta2
    adam_epsilon weight_decay max_grad_norm optim max_steps max_completion_length
    mask_truncated_completions importance_sampling_level disable_dropout use_bias_correction_kl
    sync_ref_model entropy_coef top_entropy_quantile off_policy_mask_threshold
    multi_objective_aggregation reward_weights shuffle_dataset bf16 gradient_checkpointing use_vllm
    use_liger_kernel seed data_seed report_to push_to_hub
"""


def test_every_setting_that_enters_the_numbers_is_written_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(grpo, "GRPOConfig", dict)
    written = grpo._arguments(SETTINGS, LETTERS, 5, tmp_path)
    assert {*STATED.split()} - {*written} == set()
    assert {*written} <= {field.name for field in dataclasses.fields(GRPOConfig)}


@pytest.mark.parametrize(
    ("key", "value", "argument", "expected"),
    [
        ("kl", 0.5, "beta", 0.5),
        ("clip_low", 0.1, "epsilon", 0.1),
        ("clip_high", 0.4, "epsilon_high", 0.4),
        ("temperature", 0.9, "temperature", 0.9),
        ("loss", "dr_grpo", "loss_type", "dr_grpo"),
        ("iterations", 2, "num_iterations", 2),
        ("rollouts", 8, "gradient_accumulation_steps", 2),
        ("rollouts", 8, "steps_per_generation", 2),
        ("rollouts_at_once", 2, "per_device_train_batch_size", 2),
    ],
)
def test_setting_reaches_its_argument(
    tmp_path: Path, key: str, value: Any, argument: str, expected: Any
) -> None:
    config = grpo._arguments(SETTINGS | {key: value}, LETTERS, 5, tmp_path)
    assert getattr(config, argument) == expected
    assert (config.scale_rewards, config.seed, config.data_seed) == ("none", 5, 5)
