"""What trains is float32, what does not may be bfloat16, and a small step reaches every weight."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from small_arms import Letters

from radrl.credit.uniform import Uniform
from radrl.policy import decoding, folder
from radrl.policy.folder import Policy
from radrl.rewards.base import Part, RewardSum
from radrl.training import shards, tuning
from radrl.training.preflight import SettingsError
from radrl.training.reinforcement import grpo
from radrl.training.reinforcement.trainer import ReportGRPOTrainer
from radrl.training.supervised import fine_tuning
from radrl.training.supervised.fine_tuning import Examples

TARGETS = [f"model.language_model.layers.*.self_attn.{one}_proj" for one in "qv"]
SHARED: dict[str, Any] = {
    "learning_rate": 1e-6,
    "optimizer": "adamw",
    "warmup_share": 0.0,
    "weight_decay": 0.01,
    "gradient_clip": 1.0,
    "bf16": True,
    "lora": {"rank": 4, "alpha": 8, "dropout": 0.1, "targets": TARGETS},
    "checkpoint_every": 100,
}
SFT = SHARED | {"epochs": 10, "batch_size": 6, "examples_at_once": 6, "max_tokens": 24}
GRPO = SHARED | {
    "steps": 10,
    "epochs": None,
    "prompts_per_step": 2,
    "rollouts": 4,
    "rollouts_at_once": 8,
    "iterations": 1,
    "schedule": "constant_with_warmup",
    "adam_betas": [0.9, 0.99],
    "temperature": 1.0,
    "top_p": 1.0,
    "engine": "hf",
    "importance": None,
    "max_new_tokens": 6,
    "loss": "grpo",
    "advantage": "trl",
    "clip_low": 0.2,
    "clip_high": 0.2,
    "kl": 0.05,
    "mask_truncated": False,
    "gradient_checkpointing": False,
}
Run = Callable[..., tuple[Policy, list[dict[str, float]]]]
Weights = dict[str, torch.Tensor]


@pytest.fixture
def sft(trained: Callable[..., Any]) -> Run:
    def tune(policy: Policy, films: Any, texts: Any, prompt: str, *, tunes: str, **given: Any) -> Any:
        examples = Examples.asking(prompt, films, texts)
        return fine_tuning.fine_tune(policy, examples, tunes=tunes, **given)

    return partial(trained, tune, SFT)


@pytest.fixture
def rl(trained: Callable[..., Any]) -> Run:
    def optimise(
        policy: Policy, films: Any, texts: Any, prompt: str, *, tunes: str, settings: Any, **given: Any
    ) -> Any:
        return grpo.optimise(
            policy,
            grpo.prompt_dataset(films, texts, [f"film{i}" for i in range(6)], prompt),
            reward=RewardSum([Part(Letters(), 1.0)]),
            credit=Uniform(),
            settings={"tunes": tunes} | settings,
            **given,
        )

    return partial(trained, optimise, GRPO)


@pytest.fixture
def trained(
    one_thread: None, policy_folder: Path, films: Any, texts: Any, prompt: str, tmp_path: Path
) -> Callable[..., Any]:
    """Trains the small policy by one of the two ways."""

    def train(
        way: Callable[..., Any],
        usual: dict[str, Any],
        *,
        tunes: str = "full",
        dtype: str = "float32",
        load: str = "float32",
        workspace: str = "work",
        **settings: Any,
    ) -> Any:
        return way(
            folder.load(policy_folder, dtype=load),
            [(film,) for film in films(6)],
            texts(6),
            prompt,
            tunes=tunes,
            settings=usual | settings,
            seed=3,
            workspace=tmp_path / workspace,
            dtype=dtype,
        )

    return train


STAGES = pytest.mark.parametrize("stage", ["sft", "rl"])


@pytest.fixture
def at_end(monkeypatch: pytest.MonkeyPatch) -> Weights:
    """The weights as the optimizer left them, before they are cast for saving."""
    left: Weights = {}
    finished = tuning.finished

    def noting(model: Any) -> Any:
        left.update({name: weight.detach().clone() for name, weight in model.named_parameters()})
        return finished(model)

    monkeypatch.setattr(tuning, "finished", noting)
    return left


def shares_moved(before: Policy, after: Weights, of: str) -> tuple[float, float]:
    """Of the tensors and of the single weights; printed, for docs/training.md."""
    moved = [weight.to(after[name].dtype) != after[name] for name, weight in before.model.named_parameters()]
    tensors = sum(bool(one.any()) for one in moved) / len(moved)
    weights = sum(int(one.sum()) for one in moved) / sum(one.numel() for one in moved)
    print(f"{of}: {tensors:.3f} of the tensors, {weights:.4f} of the weights moved")
    return tensors, weights


@STAGES
def test_ten_steps_at_1e_6_reach_every_weight_but_in_bfloat16(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    policy_folder: Path,
    at_end: Weights,
    stage: str,
) -> None:
    """Linear layers and embeddings are drawn from N(0, 0.02); figures in docs/training.md."""
    train, before = request.getfixturevalue(stage), folder.load(policy_folder)
    train(workspace="masters")
    tensors, weights = shares_moved(before, at_end, f"{stage}, float32 under autocast at 1e-6")
    assert tensors == 1.0
    assert weights > 0.99
    monkeypatch.setattr(tuning, "check_masters", lambda model: None)
    for rate, most in ((1e-6, 0.05), (1e-5, 0.25)):
        train(load="bfloat16", learning_rate=rate, workspace=f"weights{rate}")
        tensors, weights = shares_moved(before, at_end, f"{stage}, bfloat16 at {rate}")
        assert tensors < 0.9
        assert weights < most


@STAGES
@pytest.mark.parametrize("tunes", ["full", "vision", "language"])
def test_weights_that_train_in_bfloat16_are_refused(
    request: pytest.FixtureRequest, stage: str, tunes: str
) -> None:
    with pytest.raises(SettingsError, match=r"trains and is torch\.bfloat16.*float32 and name policy\.dtype"):
        request.getfixturevalue(stage)(load="bfloat16", dtype="bfloat16", tunes=tunes)


def test_adapters_in_bfloat16_are_refused(policy_folder: Path) -> None:
    model = folder.load(policy_folder, dtype="bfloat16").model
    config = LoraConfig(target_modules=["q_proj"])
    tuning.check_masters(get_peft_model(model, config))  # PEFT keeps them in float32
    again = folder.load(policy_folder, dtype="bfloat16").model
    with pytest.raises(SettingsError, match=r"lora_A.* trains and is torch\.bfloat16"):
        tuning.check_masters(get_peft_model(again, config, autocast_adapter_dtype=False))


@pytest.fixture
def dtypes(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[torch.dtype]]:
    """Of the weights that train, of those that do not and of the frozen start, when training begins."""
    seen: dict[str, set[torch.dtype]] = {}

    def noting(cls: Any) -> None:
        train = cls.train

        def begin(self: Any, *args: Any, **kwargs: Any) -> Any:
            for name, trains in (("trains", True), ("frozen", False)):
                seen[name] = {w.dtype for w in self.model.parameters() if w.requires_grad == trains}
            start = getattr(self, "ref_model", None)
            seen["start"] = {w.dtype for w in start.parameters()} if start is not None else set()
            return train(self, *args, **kwargs)

        monkeypatch.setattr(cls, "train", begin)

    noting(ReportGRPOTrainer)
    noting(fine_tuning._LengthGroupedTrainer)
    return seen


@STAGES
@pytest.mark.parametrize("tunes", ["full", "vision", "lora"])
def test_what_does_not_train_is_of_the_policys_dtype_and_what_is_saved_float32(
    request: pytest.FixtureRequest, dtypes: dict[str, set[torch.dtype]], stage: str, tunes: str
) -> None:
    settings = {"steps": 2} if stage == "rl" else {"epochs": 2}
    trained, curve = request.getfixturevalue(stage)(tunes=tunes, dtype="bfloat16", **settings)
    half = {torch.bfloat16}
    assert dtypes["trains"] == {torch.float32}
    assert dtypes["frozen"] == (set() if tunes == "full" else half)
    assert dtypes["start"] == (half if stage == "rl" and tunes != "lora" else set())
    assert {weight.dtype for weight in trained.model.parameters()} == {torch.float32}
    if stage == "rl":
        assert abs(curve[0]["kl"]) < 1e-4  # the frozen start in bfloat16 is where the policy starts
        assert curve[0]["grad_norm"] > 0


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_casting_keeps_tied_weights_tied_and_leaves_buffers(policy: Policy, dtype: str) -> None:
    before = {name: (buffer.dtype, buffer.clone()) for name, buffer in policy.model.named_buffers()}
    tuning.freeze(policy.model, "vision", dtype)
    assert policy.model.lm_head.weight is policy.model.model.language_model.embed_tokens.weight
    assert policy.model.lm_head.weight.dtype == folder.DTYPES[dtype]
    assert {name for name, _ in policy.model.named_buffers()} == before.keys()
    for name, buffer in policy.model.named_buffers():
        assert buffer.dtype == before[name][0]
        assert torch.equal(buffer, before[name][1])


@pytest.mark.parametrize("tunes", ["vision", "lora"])
def test_killed_and_resumed_is_as_never_stopped(
    rl: Run, killed_after: Any, weights: Any, same: Any, tunes: str
) -> None:
    settings = {"steps": 3, "tunes": tunes, "dtype": "bfloat16", "checkpoint_every": 1, "learning_rate": 1e-3}
    unbroken, curve = rl(**settings, workspace="unbroken")
    with killed_after(grpo, 2):
        rl(**settings, workspace="killed")
    resumed, resumed_curve = rl(**settings, workspace="killed")
    assert same(weights(resumed), weights(unbroken))
    assert resumed_curve == curve


def test_a_checkpoint_gives_float32_weights_back_though_the_first_ones_are_not(
    sft: Run, killed_after: Any, weights: Any, same: Any
) -> None:
    """Under `language` the tower, whose weights come first, is frozen and bfloat16."""
    settings = {"tunes": "language", "dtype": "bfloat16", "epochs": 3, "checkpoint_every": 1}
    unbroken, _ = sft(**settings, workspace="unbroken")
    with killed_after(fine_tuning, 2):
        sft(**settings, workspace="killed")
    assert same(weights(sft(**settings, workspace="killed")[0]), weights(unbroken))


@pytest.mark.parametrize("tunes", ["full", "lora"])
@pytest.mark.parametrize("bf16", [True, False])
def test_rollouts_are_drawn_in_the_precision_of_training(
    rl: Run, monkeypatch: pytest.MonkeyPatch, tunes: str, bf16: bool
) -> None:
    seen: list[bool] = []
    prefilled = decoding.prefilled

    def noting(*args: Any) -> Any:
        seen.append(torch.is_autocast_enabled("cpu"))
        return prefilled(*args)

    monkeypatch.setattr(decoding, "prefilled", noting)
    rl(tunes=tunes, steps=2, bf16=bf16)
    assert seen == [bf16, bf16]


def test_casting_by_layer_changes_no_number(
    rl: Run, monkeypatch: pytest.MonkeyPatch, weights: Any, same: Any
) -> None:
    settings = {"steps": 2, "tunes": "full", "gradient_checkpointing": True, "learning_rate": 1e-3}
    asked: list[str] = []
    cast = shards.cast_by_layer
    monkeypatch.setattr(
        shards, "cast_by_layer", lambda *own, **how: (asked.append(own[1]), cast(*own, **how))
    )
    found, curve = rl(**settings, workspace="by layer")
    assert asked == ["cpu"]
    monkeypatch.setattr(shards, "cast_by_layer", lambda *_, **__: None)
    expected, kept = rl(**settings, workspace="kept")
    assert same(weights(found), weights(expected))
    assert [row["loss"] for row in curve] == [row["loss"] for row in kept]


def test_what_adapters_learnt_is_merged_in_float32(policy_folder: Path) -> None:
    lora = {"rank": 2, "alpha": 2, "dropout": 0.0, "targets": TARGETS[:1]}
    adapted = tuning.prepare(folder.load(policy_folder).model, "lora", lora, "bfloat16")
    layer = adapted.get_base_model().model.language_model.layers[0].self_attn.q_proj
    base = layer.base_layer.weight.detach().clone()
    assert base.dtype == torch.bfloat16
    torch.nn.init.normal_(layer.lora_B["default"].weight, std=1e-4)
    learnt = (layer.lora_B["default"].weight @ layer.lora_A["default"].weight).detach()
    rounded = (base + learnt.bfloat16()) != base
    assert rounded.float().mean() < 0.5  # most of it would be lost in bfloat16
    merged = tuning.finished(adapted).model.language_model.layers[0].self_attn.q_proj.weight
    torch.testing.assert_close(merged - base.float(), learnt, rtol=0, atol=1e-8)


@pytest.mark.parametrize(("name", "expected"), [("adamw", "adamw_torch"), ("adamw_8bit", "adamw_bnb_8bit")])
def test_optimizer_reaches_the_trainers(tmp_path: Path, name: str, expected: str) -> None:
    reward, own = RewardSum([Part(Letters(), 1.0)]), {"optimizer": name, "tunes": "full"}
    assert fine_tuning._arguments(SFT | own, 0, tmp_path).optim == expected
    assert grpo._arguments(GRPO | own, reward, 0, tmp_path).optim == expected
