"""Trainings that end at a plateau of the watched films and keep the best look, also killed and resumed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st
from small_arms import Letters

from radrl.credit.uniform import Uniform
from radrl.policy import folder
from radrl.policy.folder import Policy
from radrl.rewards.base import Part, RewardSum
from radrl.training.checkpoints import CheckpointError
from radrl.training.reinforcement import grpo
from radrl.training.reinforcement.grpo import optimise, prompt_dataset
from radrl.training.watching.early_stopping import best_look, has_run_out

COLUMN = "watch/ce_signs_sample14_f1"


def rows(*values: float | None) -> list[dict[str, float]]:
    """A look at every update from 0 on; none where there is nothing."""
    return [{"step": i} | ({} if value is None else {COLUMN: value}) for i, value in enumerate(values)]


class TestByHand:
    @pytest.mark.parametrize(
        ("values", "best"),
        [
            ((0.1, 0.2, 0.4, 0.3), 2),
            ((0.9, 0.2, 0.4, 0.3), 2),  # the start is no outcome of the training
            ((0.1, 0.4, None, 0.4), 1),  # of equal ones the earliest
            ((0.1, float("nan"), 0.3), 2),  # a gap of a CSV
        ],
    )
    def test_best_look(self, values: Sequence[float | None], best: int) -> None:
        assert best_look(rows(*values), COLUMN) == best

    @pytest.mark.parametrize(
        ("values", "patience", "over"),
        [
            ((0.1, 0.4, 0.3), 2, False),  # 2 - 1 = 1 update without a better look
            ((0.1, 0.4, 0.3, 0.35), 2, True),  # 3 - 1
            ((0.1, 0.4, 0.3, 0.5), 2, False),
            ((0.9, 0.4), 1, False),
        ],
    )
    def test_has_run_out(self, values: Sequence[float], patience: int, over: bool) -> None:
        assert has_run_out(rows(*values), COLUMN, patience) is over

    def test_training_that_was_not_watched_has_no_best_look(self) -> None:
        with pytest.raises(ValueError, match="was not watched"):
            best_look([{"step": 0, COLUMN: 0.5}, {"step": 1}], COLUMN)

    @given(st.lists(st.integers(0, 1000), min_size=1, max_size=30), st.integers(1, 10))
    def test_more_patience_never_ends_earlier(self, values: list[int], patience: int) -> None:
        looks = rows(0.0, *(value / 1000 for value in values))
        if has_run_out(looks, COLUMN, patience + 1):
            assert has_run_out(looks, COLUMN, patience)
        # a better look is the best one, and sets patience back
        better = [*looks, {"step": len(looks), COLUMN: 2.0}]
        assert best_look(better, COLUMN) == len(looks)
        assert not has_run_out(better, COLUMN, patience)


class Scripted:
    """A watch whose looks are written down beforehand; it looks at every update."""

    every = 1

    def __init__(self, *values: float) -> None:
        self.left = [*values]

    def column(self, metric: str) -> str:
        return f"watch/ce_signs_{metric}"

    def measure(self, policy: Policy) -> dict[str, float]:
        return {COLUMN: self.left.pop(0)}


Train = Callable[..., tuple[Policy, list[dict[str, float]]]]


@pytest.fixture
def train(
    policy_folder: Path,
    films: Callable[..., list[bytes]],
    texts: Callable[[int], list[str]],
    prompt: str,
    small: dict[str, Any],
    tmp_path: Path,
) -> Train:
    prompts: Dataset = prompt_dataset([(film,) for film in films(6)], texts(6), list("abcdef"), prompt)
    brief = {"rollouts": 4, "learning_rate": 1e-2, "warmup_share": 0.0, "max_new_tokens": 6, "steps": 6}
    brief["schedule"] = "constant_with_warmup"  # so that a shorter training is the beginning of a longer one

    def run(looks: Sequence[float], workspace: str, **settings: Any) -> tuple[Policy, list[dict[str, float]]]:
        own = {"patience": settings.pop("patience", None), "keep": settings.pop("keep", "last")}
        return optimise(
            folder.load(policy_folder),
            prompts,
            reward=RewardSum([Part(Letters(), 1.0)]),
            credit=Uniform(),
            settings=small["training"]
            | brief
            | {"checkpoint_every": 2, "watch": {"every": 1, "films": 1, "metric": "sample14_f1", **own}}
            | settings,
            seed=3,
            workspace=tmp_path / workspace,
            watch=Scripted(*looks),  # type: ignore[arg-type]
        )

    return run


# the look before the first update, then one after each: the best is after update 2
LOOKS = (0.9, 0.1, 0.5, 0.4, 0.3, 0.2, 0.1)


class TestTraining:
    def test_weights_of_the_best_look_are_handed_on(self, train: Train, weights: Any, same: Any) -> None:
        kept, curve = train(LOOKS, "best", keep="best")
        assert [row["step"] for row in curve] == [0, 1, 2, 3, 4, 5, 6]
        at_best, _ = train(LOOKS, "two", steps=2)
        assert same(weights(kept), weights(at_best))
        last, last_curve = train(LOOKS, "last")
        assert not same(weights(kept), weights(last))
        assert curve == last_curve  # a kept checkpoint changes no draw

    def test_last_look_may_be_the_best(self, train: Train, weights: Any, same: Any) -> None:
        rising = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
        assert same(weights(train(rising, "a", keep="best")[0]), weights(train(rising, "b")[0]))

    def test_training_ends_when_patience_has_run_out(self, train: Train, weights: Any, same: Any) -> None:
        ended, curve = train(LOOKS, "ended", patience=3)
        assert [row["step"] for row in curve] == [0, 1, 2, 3, 4, 5]  # 5 - 2 = 3
        whole, whole_curve = train(LOOKS, "whole")
        assert curve == whole_curve[:6]
        assert not same(weights(ended), weights(whole))  # it has the weights after update 5

    @pytest.mark.parametrize("tunes", ["full", "lora"])
    @pytest.mark.parametrize("killed_at", [1, 2, 3, 4, 5])
    def test_killed_and_resumed_is_as_never_stopped(
        self,
        train: Train,
        weights: Any,
        same: Any,
        monkeypatch: pytest.MonkeyPatch,
        tunes: str,
        killed_at: int,
    ) -> None:
        targets = [f"model.language_model.layers.*.self_attn.{one}_proj" for one in "qv"]
        lora = {"rank": 4, "alpha": 8, "dropout": 0.3, "targets": targets}
        settings: dict[str, Any] = {"keep": "best", "patience": 3, "tunes": tunes, "lora": lora}
        unbroken, curve = train(LOOKS, "unbroken", **settings)
        assert curve[-1]["step"] == 5

        class Dying(grpo.StepReport):
            def on_log(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                if state.global_step == killed_at:
                    raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(grpo, "StepReport", Dying)
            with pytest.raises(KeyboardInterrupt):
                train(LOOKS, "killed", **settings)
        # a kill comes before the step's checkpoint; 2 is the best look's, 4 is one of every two
        goes_on_from = {1: 0, 2: 1, 3: 2, 4: 2, 5: 4}[killed_at]
        left = LOOKS[goes_on_from + 1 :] if goes_on_from else LOOKS
        resumed, resumed_curve = train(left, "killed", **settings)
        assert resumed_curve == curve
        assert same(weights(resumed), weights(unbroken))

    def test_altered_checkpoint_of_the_best_look_is_refused(
        self, train: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        taken_up = grpo.ReportGRPOTrainer.train

        def train_and_alter(trainer: Any, **how: Any) -> Any:
            result = taken_up(trainer, **how)
            (tmp_path / "w" / "checkpoint-2" / "model.safetensors").write_bytes(b"another")
            return result

        monkeypatch.setattr(grpo.ReportGRPOTrainer, "train", train_and_alter)
        with pytest.raises(CheckpointError, match=r"checkpoint-2, of the best look .* \(model.safetensors\)"):
            train(LOOKS, "w", keep="best")
