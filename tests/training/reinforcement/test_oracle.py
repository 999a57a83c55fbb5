"""OraPO's oracle through whole trainer steps, against the pure equations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from small_arms import MIXING, Thirds

from radrl.algorithms import ln_dpo
from radrl.credit.uniform import Uniform
from radrl.policy import folder
from radrl.policy.encoding import encode_targets
from radrl.policy.folder import Policy
from radrl.rewards.base import Part, RewardSum
from radrl.training.reinforcement import grpo
from radrl.training.reinforcement.grpo import optimise
from radrl.training.reinforcement.oracle import AveragedRates, Oracle, pair_losses

Run = Callable[..., tuple[Policy, list[dict[str, float]]]]


class Floor(Thirds):
    """A part that is never 0."""

    name = "floor"

    def __call__(self, reports: Sequence[str], *_: Any) -> list[float]:
        return [0.1 + len(report) / 100 for report in reports]


@pytest.fixture
def run(policy_folder: Path, prompts: Dataset, small: dict[str, Any], tmp_path: Path) -> Run:
    brief = {"steps": 3, "rollouts": 4, "learning_rate": 1e-2, "max_new_tokens": 6, "loss": "dr_grpo"}
    brief |= {"warmup_share": 0.0, "schedule": "linear"}

    def train(
        oracle: Mapping[str, Any] | None,
        *,
        parts: Sequence[Any] = (Thirds(),),
        workspace: str = "work",
        **settings: Any,
    ) -> tuple[Policy, list[dict[str, float]]]:
        start = folder.load(policy_folder)
        mixed = None if oracle is None else Oracle(start.processor.tokenizer, **MIXING | dict(oracle))
        return optimise(
            start,
            prompts,
            reward=RewardSum([Part(part, 1.0) for part in parts]),
            credit=Uniform(),
            oracle=mixed,
            settings=small["training"] | brief | settings,
            seed=3,
            workspace=tmp_path / workspace,
        )

    return train


@pytest.fixture
def losses(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Every micro-batch's inputs, the loss TRL found, the oracle's beside it, and both policies' numbers."""
    seen: list[dict[str, Any]] = []

    class Noting(grpo.ReportGRPOTrainer):
        def _preference(self, model: Any, inputs: Any) -> torch.Tensor:
            policy = self.last_log_probabilities.detach().clone()
            term = super()._preference(model, inputs)
            with torch.no_grad():
                alone = {row: self._alone(model, inputs, row) for row in range(len(inputs["film"]))}
            seen.append({**inputs, "policy": policy, "term": float(term.detach()), "alone": alone})
            return term

        def _alone(self, model: Any, inputs: Any, row: int) -> tuple[float, float]:
            """Mean log-probability of a row's reference by policy and start, as a batch of one."""
            films = {key: inputs[key] for key in ("pixel_values", "image_grid_thw")}
            count = len(films["pixel_values"]) // len(inputs["film"])  # films of one size
            ids = inputs["reference_ids"][row][inputs["reference_mask"][row] == 1][None]
            asked = torch.cat([inputs["prompt_ids"][row : row + 1], ids], dim=1)
            found = []
            with self._frozen_start() as start:
                for who in (model, start):
                    logps = self._get_per_token_logps_and_entropies(
                        who,
                        asked,
                        torch.cat([inputs["prompt_mask"][row : row + 1], torch.ones_like(ids)], dim=1),
                        ids.size(1),
                        pixel_values=films["pixel_values"][row * count : (row + 1) * count],
                        image_grid_thw=films["image_grid_thw"][row : row + 1],
                        num_images=[1],
                        mm_token_type_ids=torch.cat(
                            [
                                inputs["mm_token_type_ids"][row : row + 1, : inputs["prompt_ids"].size(1)],
                                torch.zeros_like(ids),
                            ],
                            dim=1,
                        ),
                    )[0]
                    found.append(float(logps.mean()))
            return found[0], found[1]

    monkeypatch.setattr(grpo, "ReportGRPOTrainer", Noting)
    return seen


@pytest.mark.parametrize("settings", [{}, {"kl": 0.0}, {"rollouts_at_once": 8, "prompts_per_step": 4}])
def test_term_is_that_of_the_equations(
    run: Run, losses: list[dict[str, Any]], settings: dict[str, Any]
) -> None:
    _, curve = run({}, **settings)
    assert losses
    for step in losses:
        mask = step["completion_mask"].numpy()
        weight = step["pair_weight"].numpy()
        policy = ln_dpo.mean_log_probability(step["policy"].numpy() * mask, mask)
        positive = np.array([step["alone"][row] for row in range(len(weight))])
        margin = ln_dpo.preference_margin(
            positive[:, 0], positive[:, 1], policy, step["rollout_start"].numpy()
        )
        expected = (weight * ln_dpo.pair_loss(margin, tau=MIXING["tau"])).mean()
        assert step["term"] == pytest.approx(expected, rel=1e-4, abs=1e-6)
    halves = [_halves(step) for step in losses if (step["pair_weight"] > 0).any()]
    if "rollouts_at_once" not in settings:  # else several micro-batches are a step
        paired = [row for row in curve if row["oracle/pairs"]]
        for (gain, loss), row in zip(halves, paired, strict=True):
            assert row["oracle/reference_gain"] == pytest.approx(gain, abs=1e-5)
            assert row["oracle/rollout_loss"] == pytest.approx(loss, abs=1e-5)
            assert row["oracle/margin"] == pytest.approx(gain + loss, abs=1e-5)
        assert max(abs(gain) for gain, _ in halves) > 1e-3
        assert max(abs(loss) for _, loss in halves) > 1e-3
    assert curve[0]["oracle/loss"] == pytest.approx(np.log(2), rel=1e-5)  # the policy is the start as yet
    assert curve[0]["oracle/margin"] == pytest.approx(0, abs=1e-5)


def _halves(step: Mapping[str, Any]) -> tuple[float, float]:
    """What the references of a step's pairs gained on the start, and what its negatives lost, in the mean."""
    chosen = step["pair_weight"].numpy() > 0
    mask = step["completion_mask"].numpy()
    policy = ln_dpo.mean_log_probability(step["policy"].numpy() * mask, mask)
    references = np.array([step["alone"][row] for row in range(len(chosen))])
    gains = references[:, 0] - references[:, 1]
    return float(gains[chosen].mean()), float((step["rollout_start"].numpy() - policy)[chosen].mean())


def test_halves_of_the_margin_are_means_over_a_steps_pairs() -> None:
    class Told:  # what `_log_pairs` needs of a trainer, two micro-batches a step
        _log_pairs = grpo.ReportGRPOTrainer._log_pairs

        def __init__(self) -> None:
            self.pair_sums = torch.zeros(4)
            self.accelerator = SimpleNamespace(sync_gradients=False, reduce=lambda own, reduction: own)
            self._metrics: Any = {"train": defaultdict(list)}

    told = Told()
    # gain, margin, loss, 1 of three rollouts, of which two are negatives; then of two, of which one is
    first = torch.tensor([[0.5, 0.1, 9.0], [0.3, 0.2, 9.0], [0.6, 0.7, 9.0], [1.0, 1.0, 1.0]])
    second = torch.tensor([[0.9, 9.0], [0.1, 9.0], [0.8, 9.0], [1.0, 1.0]])
    told._log_pairs(first, torch.tensor([True, True, False]))
    assert not told._metrics["train"]
    told.accelerator.sync_gradients = True
    told._log_pairs(second, torch.tensor([True, False]))
    found = {name: values[0] for name, values in told._metrics["train"].items()}
    assert found == pytest.approx({
        "oracle/reference_gain": 0.5,  # (0.5 + 0.1 + 0.9) / 3
        "oracle/rollout_loss": -0.3,  # margins less gains: (-0.2 + 0.1 - 0.8) / 3
        "oracle/margin": 0.2,
        "oracle/loss": 0.7,
    })  # fmt: skip


def test_policy_comes_to_prefer_the_references(run: Run) -> None:
    _, curve = run({"negatives": "all"}, steps=6)
    assert curve[-1]["oracle/margin"] > 0.01
    assert curve[-1]["oracle/loss"] < np.log(2)


def test_weights_follow_the_rates(run: Run, losses: list[dict[str, Any]]) -> None:
    _, curve = run({"momentum": 0.0, "per": "batch"})
    for row in curve:
        rate = row["groups/zero_reward_share"]
        assert row["oracle/zero_reward_rate"] == pytest.approx(rate)
        assert row["oracle/averaged_rate"] == pytest.approx(rate)
        assert row["oracle/mixing_weight"] == pytest.approx(0.2 + 0.4 * rate**2)
        assert row["oracle/pairs"] == pytest.approx(4 * rate)
    paired = [row for row in curve if row["oracle/pairs"]]
    assert paired
    for step, row in zip(losses, paired, strict=True):
        w = row["oracle/mixing_weight"]
        films = step["film"].numpy()
        for film in set(films):
            own = step["pair_weight"].numpy()[films == film]
            assert own.sum() == pytest.approx(4 * w * (own > 0).any(), rel=1e-5)  # G w, over the negatives


def test_weight_of_nothing_is_grpo_to_the_bit(
    run: Run, weights: Callable[[Any], Any], same: Callable[..., bool]
) -> None:
    plain, curve = run(None, workspace="plain")
    mixed, mixed_curve = run({"w_min": 0.0, "w_max": 0.0}, workspace="mixed")
    assert same(weights(plain), weights(mixed))
    for row, other in zip(curve, mixed_curve, strict=True):
        assert {key: other[key] for key in row} == row


def test_first_term_is_scaled_by_prompt() -> None:
    oracle = Oracle(None, **MIXING | {"momentum": 0.0})  # type: ignore[arg-type]
    earned = np.array([[0.0, 0.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [np.nan] * 4])
    mixing, state = oracle.mix({}, ["a", "b", "c"], earned, np.ones((3, 4), bool))
    # rates 1/2 and 0 -> weights 0.2 + 0.4 / 4 and 0.2; the second prompt has no pair, the third no score
    np.testing.assert_allclose(mixing.grpo, [0.7, 0.8, 1.0])
    np.testing.assert_allclose(mixing.pairs, [[0.6, 0.6, 0, 0], [0] * 4, [0] * 4])
    assert state == {"a": 0.5, "b": 0.0}
    assert mixing.numbers["oracle/pairs"] == pytest.approx(2 / 3)


def test_rollout_without_a_token_in_the_loss_or_without_a_score_is_no_negative() -> None:
    oracle = Oracle(None, **MIXING | {"negatives": "all"})  # type: ignore[arg-type]
    earned = np.array([[0.0, 1.0, np.nan, 0.0]])
    mixing, _ = oracle.mix({}, ["a"], earned, np.array([[True, True, True, False]]))
    assert (mixing.pairs > 0).tolist() == [[True, True, False, False]]


def test_part_that_is_never_0_leaves_the_rate_to_the_clinical_one(run: Run) -> None:
    _, curve = run({}, parts=[Thirds(), Floor(clinical=False)])
    assert max(row["oracle/zero_reward_rate"] for row in curve) > 0
    for row in curve:
        assert row["groups/zero_reward_share"] == pytest.approx(row["oracle/zero_reward_rate"])


@pytest.mark.parametrize("tunes", ["full", "lora"])
@pytest.mark.parametrize("step", [1, 2, 3])
def test_killed_and_resumed_run_has_the_averages_of_the_unbroken_one(
    run: Run,
    weights: Callable[[Any], Any],
    same: Callable[..., bool],
    killed_after: Callable[..., Any],
    step: int,
    tunes: str,
) -> None:
    settings = {"steps": 4, "checkpoint_every": 1, "tunes": tunes}
    targets = [f"model.language_model.layers.*.self_attn.{one}_proj" for one in "qv"]
    settings |= {"lora": {"rank": 4, "alpha": 8, "dropout": 0.1, "targets": targets}}
    unbroken, curve = run({}, workspace="unbroken", **settings)
    with killed_after(grpo, step=step):
        run({}, workspace="killed", **settings)
    resumed, resumed_curve = run({}, workspace="killed", **settings)
    assert same(weights(resumed), weights(unbroken))
    assert resumed_curve == curve
    assert len({row["oracle/averaged_rate"] for row in curve}) > 1


def test_start_stays_the_start_without_a_kl_term(run: Run) -> None:
    _, curve = run({"negatives": "all"}, kl=0.0, steps=2)
    assert "kl" not in curve[0]
    assert curve[0]["oracle/margin"] == pytest.approx(0, abs=1e-5)
    assert abs(curve[1]["oracle/margin"]) > 1e-4


def test_pair_losses_are_those_of_the_equation() -> None:
    margins = torch.tensor([-2.0, 0.0, 0.5], dtype=torch.float64, requires_grad=True)
    found = pair_losses(margins, 0.7)
    np.testing.assert_allclose(found.detach(), ln_dpo.pair_loss(margins.detach(), tau=0.7))
    found.sum().backward()
    expected = -0.7 / (1 + np.exp(0.7 * margins.detach().numpy()))
    np.testing.assert_allclose(margins.grad, expected)


def test_targets_end_and_are_cut_only_where_asked(policy_folder: Path) -> None:
    tokenizer = folder.load(policy_folder).processor.tokenizer
    ids, mask = encode_targets(tokenizer, ["Heart big.", "Heart."])
    assert ids.shape == mask.shape
    for row, text in zip(range(2), ["Heart big.", "Heart."], strict=True):
        own = ids[row][mask[row] == 1].tolist()
        assert own[-1] == tokenizer.eos_token_id
        assert tokenizer.decode(own[:-1]) == text
    cut, _ = encode_targets(tokenizer, ["Heart big."], 3)
    assert cut.shape == (1, 3)
    assert cut[0, -1] == tokenizer.eos_token_id


def test_averages_come_back_from_a_checkpoint() -> None:
    kept, fresh = AveragedRates(), AveragedRates()
    kept.rates = {"film": 0.25}

    fresh.on_train_begin(None, SimpleNamespace(stateful_callbacks={"AveragedRates": kept.state()}), None)
    assert fresh.rates == {"film": 0.25}
