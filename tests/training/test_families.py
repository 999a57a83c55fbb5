"""Every family learns from reports and from rewards; what one cannot share or adapt is said by name."""

from __future__ import annotations

import logging
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from small_arms import MIXING, SUPERVISED, TRAINING, Letters, Nothing
from trl.trainer.utils import add_fused_lm_head

from radrl.credit.build import build
from radrl.credit.uniform import Uniform
from radrl.params.schema import read
from radrl.policy import families, folder
from radrl.policy.encoding import decode_film, encode_prompts
from radrl.policy.folder import Policy
from radrl.rewards.base import Part, RewardSum
from radrl.training import adapters, tuning
from radrl.training.preflight import SettingsError, check_targets, linear_layers
from radrl.training.reinforcement import grpo, shared_forward
from radrl.training.reinforcement import trainer as module
from radrl.training.reinforcement.grpo import optimise, prompt_dataset
from radrl.training.reinforcement.oracle import Oracle
from radrl.training.reinforcement.trainer import ReportGRPOTrainer
from radrl.training.supervised import fine_tuning
from radrl.training.supervised.fine_tuning import Examples, fine_tune

Weights = dict[str, Any]
LANGUAGE = [f"model.language_model.layers.*.{part}.*_proj" for part in ("self_attn", "mlp")]
LORA = {"rank": 4, "alpha": 8, "dropout": 0.0, "targets": LANGUAGE}
SHARING = ("qwen2_5_vl", "qwen3_vl")
"""Families whose groups read their prompt once in a forward pass of training."""
SETTINGS = SUPERVISED | {"lora": LORA}
GRPO = TRAINING | {"steps": 2, "rollouts": 3, "rollouts_at_once": 6, "lora": LORA, "checkpoint_every": 1}


@pytest.fixture
def own(family_folder: Path) -> Policy:
    return folder.load(family_folder)


@pytest.fixture
def studies(films: Callable[..., list[bytes]]) -> list[tuple[bytes, ...]]:
    """Three of one film, one of two."""
    a, b, c, d, e = films(5)
    return [(a,), (b,), (c, d), (e,)]


@pytest.fixture
def taught(
    family_folder: Path,
    studies: list[tuple[bytes, ...]],
    texts: Callable[[int], list[str]],
    prompt: str,
    tmp_path: Path,
) -> Callable[..., tuple[Policy, list[dict[str, float]]]]:
    def run(workspace: str = "sft", tunes: str = "full", **settings: Any) -> Any:
        return fine_tune(
            folder.load(family_folder),
            Examples.asking(prompt, studies, texts(4)),
            settings=SETTINGS | settings,
            seed=3,
            workspace=tmp_path / workspace,
            tunes=tunes,
        )

    return run


@pytest.fixture
def rewarded(
    family_folder: Path,
    studies: list[tuple[bytes, ...]],
    texts: Callable[[int], list[str]],
    prompt: str,
    tmp_path: Path,
) -> Callable[..., tuple[Policy, list[dict[str, float]]]]:
    prompts = prompt_dataset(studies, texts(4), ["s0", "s1", "s2", "s3"], prompt)

    def run(
        workspace: str = "grpo",
        reward: Any = None,
        credit: Any = None,
        oracle: Any = None,
        dtype: str = "float32",
        **settings: Any,
    ) -> Any:
        return optimise(
            folder.load(family_folder),
            prompts,
            reward=reward or RewardSum([Part(Letters(), 1.0)]),
            credit=credit or Uniform(),
            oracle=oracle,
            settings=GRPO | settings,
            seed=3,
            workspace=tmp_path / workspace,
            dtype=dtype,
        )

    return run


def moved(before: Weights, after: Weights) -> set[str]:
    assert before.keys() == after.keys()
    return {name for name in before if not torch.equal(before[name], after[name])}


def test_the_cold_start_lowers_the_loss(taught: Any) -> None:
    _, curve = taught()
    losses = [row["loss"] for row in curve]
    assert losses[-1] < 0.8 * losses[0]


def test_the_vision_encoder_trains_alone(
    taught: Any, family_folder: Path, weights: Callable[[Any], Weights]
) -> None:
    trained, _ = taught(tunes="vision", epochs=1)
    names = moved(weights(family_folder), weights(trained))
    vision = families.family_of_model(trained.model).vision
    assert all(name.startswith(vision) for name in names)
    for beginning in vision:  # the encoder and the projector, wherever the family keeps them
        assert any(name.startswith(beginning) for name in names)


@pytest.mark.parametrize("tunes", ["full", "lora"])
def test_a_cold_start_that_was_killed_goes_on_from_its_weights(
    taught: Any, weights: Callable[[Any], Weights], killed_after: Callable[..., Any], same: Any, tunes: str
) -> None:
    unbroken, curve = taught("unbroken", tunes)
    with killed_after(fine_tuning, 2):
        taught("killed", tunes)
    resumed, resumed_curve = taught("killed", tunes)
    assert same(weights(resumed), weights(unbroken))
    assert resumed_curve == curve


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"tunes": "lora"},
        {"rollouts_at_once": 3, "gradient_checkpointing": True},
        {"tunes": "lora", "bf16": True, "dtype": "bfloat16"},
    ],
    ids=["full", "lora", "in parts", "on a bfloat16 base"],
)
def test_rewards_move_the_policy_and_a_kill_changes_nothing(
    rewarded: Any,
    family_folder: Path,
    weights: Callable[[Any], Weights],
    killed_after: Callable[..., Any],
    same: Any,
    settings: dict[str, Any],
) -> None:
    unbroken, curve = rewarded("unbroken", **settings)
    assert len(curve) == 2
    assert all(np.isfinite(list(row.values())).all() and row["grad_norm"] > 0 for row in curve)
    assert curve[0]["kl"] < 1e-6 < curve[1]["kl"]  # the frozen start is asked as the policy is
    names = moved(weights(family_folder), weights(unbroken))
    assert names
    if settings.get("tunes") == "lora":
        targets = {
            f"{layer}.weight"
            for layer in linear_layers(family_folder)
            if any(fnmatchcase(layer, glob) for glob in LANGUAGE)
        }
        # a base that is cast to bfloat16 is rounded as a whole
        assert targets <= names if "dtype" in settings else targets == names
    with killed_after(grpo, 1):
        rewarded("killed", **settings)
    resumed, resumed_curve = rewarded("killed", **settings)
    assert same(weights(resumed), weights(unbroken))
    assert resumed_curve == curve


@pytest.mark.parametrize("kl", [0.0, 0.05])
def test_the_oracle_prefers_references_by_the_log_probabilities_of_separate_rows(
    own: Policy, rewarded: Any, monkeypatch: pytest.MonkeyPatch, kl: float
) -> None:
    """At the start the policy is the frozen start, so neither reference nor rollout has gained."""
    oracle = Oracle(own.processor.tokenizer, **MIXING)
    failed = RewardSum([Part(Nothing(), 1.0)])
    (shared,) = rewarded("shared", steps=1, oracle=oracle, reward=failed, kl=kl)[1]
    assert shared["oracle/pairs"] == 3
    assert abs(shared["oracle/reference_gain"]) < 1e-6
    assert abs(shared["oracle/rollout_loss"]) < 1e-6
    assert shared["grad_norm"] > 0
    monkeypatch.setattr(shared_forward, "enable", lambda model: "as the test has it")
    (apart,) = rewarded("apart", steps=1, oracle=oracle, reward=failed, kl=kl)[1]
    assert apart["grad_norm"] == pytest.approx(shared["grad_norm"], rel=1e-4)


def test_rewards_are_spread_over_a_familys_tokens(own: Policy, rewarded: Any) -> None:
    credit = build(
        {"tf_idf": {"alpha": 4.0, "tf": "relative", "idf": "plain"}}, own.processor.tokenizer, _none
    )
    (row,) = rewarded(steps=1, credit=credit)[1]
    assert row["credit/weight_max"] > 1
    assert row["grad_norm"] > 0


def _none(name: str) -> Any:
    raise AssertionError(f"no labeler is asked for, and not {name}")


def test_a_policy_that_was_trained_loads_again(
    rewarded: Any, weights: Callable[[Any], Weights], same: Any, tmp_path: Path
) -> None:
    trained, _ = rewarded(steps=1)
    (tmp_path / "policy").mkdir()
    folder.save(trained, tmp_path / "policy")
    assert same(weights(tmp_path / "policy"), weights(trained))


def test_a_group_shares_its_prompt_or_it_is_said_why_not(
    rewarded: Any, family_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger=module.__name__):
        rewarded(steps=1)
    (said,) = (own for own in caplog.messages if own.startswith("a film and its prompt go"))
    if families.family_of_folder(family_folder).model_type in SHARING:
        assert said.endswith("once for all rollouts of a group")
    else:
        assert "once for each rollout" in said
        assert "tokens of a film see one another both ways in Gemma 3" in said


@pytest.fixture
def trls_way() -> ReportGRPOTrainer:
    """A trainer of which only what its log-probabilities need is there."""
    trainer = object.__new__(ReportGRPOTrainer)
    trainer._entropy_bonus_enabled = False
    trainer.accelerator = Accelerator(cpu=True)
    trainer.args = SimpleNamespace(report_to=[])
    trainer.temperature, trainer.beside = 0.7, None
    return trainer


@pytest.mark.parametrize("most", [shared_forward.MOST_LOGITS, 0], ids=["at once", "in tiles"])
@pytest.mark.parametrize("checkpointing", [False, True])
def test_log_probabilities_of_shared_prompts_are_those_of_separate_rows(
    own: Policy,
    trls_way: Any,
    studies: list[tuple[bytes, ...]],
    prompt: str,
    checkpointing: bool,
    most: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shared_forward, "MOST_LOGITS", most)
    model = own.model.train()
    add_fused_lm_head(model, temperature=0.7, outputs=("log_probs", "entropy"))
    if checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    asked = _asked(own, studies, prompt)
    plain = _found(trls_way, model, asked)
    why = shared_forward.enable(model)
    if families.family_of_model(own.model).model_type not in SHARING:
        assert "Gemma 3" in str(why)
        assert not shared_forward.enabled(model)
        return
    assert why is None
    assert shared_forward.enabled(model)
    shared = _found(trls_way, model, asked)
    for one, other in zip(shared[:2], plain[:2], strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-5)
    assert shared[2].keys() == plain[2].keys()
    for name, gradient in plain[2].items():
        assert (shared[2][name] - gradient).norm() <= 1e-4 * gradient.norm() + 1e-6, name


def _asked(own: Policy, studies: list[tuple[bytes, ...]], prompt: str) -> dict[str, Any]:
    """What TRL asks for: two groups of three and a prompt of another length, rollouts of all lengths."""
    rows = [studies[0]] * 3 + [studies[2]] * 3 + [studies[1]]
    words = [prompt] * 6 + [f"{prompt} Be brief."]
    pictures = [[decode_film(film) for film in row] for row in rows]
    inputs = dict(encode_prompts(own.processor, pictures, words))
    lengths = torch.tensor([3, 6, 1, 2, 6, 4, 5])
    ids = torch.randint(20, 200, (7, 6), generator=torch.Generator().manual_seed(0))
    mask = (torch.arange(6) < lengths[:, None]).long()
    kinds = families.family_of_model(own.model).kinds
    return inputs | {
        "input_ids": torch.cat([inputs["input_ids"], ids], dim=1),
        "attention_mask": torch.cat([inputs["attention_mask"], mask], dim=1),
        kinds: torch.cat([inputs[kinds], torch.zeros_like(ids)], dim=1),
        "logits_to_keep": 6,
        "compute_entropy": True,
        "num_images": [len(row) for row in rows],
    }


def _found(trainer: Any, model: Any, asked: dict[str, Any]) -> tuple[Any, Any, Weights]:
    """Log-probabilities, entropies and gradients of a sum in which tokens weigh differently."""
    model.zero_grad()
    logps, entropies, _ = trainer._get_per_token_logps_and_entropies(model, **asked)
    written = asked["attention_mask"][:, -6:]
    (logps * torch.linspace(-1, 2, logps.numel()).view_as(logps) * written).sum().backward()
    gradients = {name: own.grad.clone() for name, own in model.named_parameters() if own.grad is not None}
    return logps.detach() * written, entropies.detach() * written, gradients


def test_each_part_has_layers_of_its_own_and_parts_are_all_layers(own: Policy, family_folder: Path) -> None:
    layers, parts = adapters.linear_layers(own.model), families.family_of_model(own.model).parts
    assert linear_layers(family_folder) == layers
    for part, glob in parts.items():
        hit = adapters.chosen(layers, [glob])
        assert adapters.by_part(hit, parts) == {name: len(hit) if name == part else 0 for name in parts}
    assert sum(adapters.by_part(layers, parts).values()) == len(layers)


def test_globs_of_the_recipes_fit_or_are_refused_with_the_nearest(family_folder: Path) -> None:
    check_targets(family_folder, LANGUAGE, "training.lora")
    vision = ["model.visual.blocks.*.attn.*", "model.visual.blocks.*.mlp.*_proj"]
    if families.family_of_folder(family_folder) is families.FIRST:
        return check_targets(family_folder, vision, "training.lora")
    nearest = (
        "model.visual.blocks.*.mlp"
        if "qwen" in families.family_of_folder(family_folder).model_type
        else "model.vision_tower"
    )
    with pytest.raises(
        SettingsError, match=r"training.lora.targets: .* hits no linear layer of the policy"
    ) as said:
        check_targets(family_folder, vision, "training.lora")
    assert nearest in str(said.value)
    return None


def test_how_many_layers_of_each_part_are_adapted_is_said(
    own: Policy, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger=tuning.__name__):
        tuning.prepare(own.model, "lora", LORA)
    (said,) = caplog.messages
    assert said.startswith("adapters on 14 linear layers: 8 of language attention, 6 of language MLP, 0 of ")


def test_a_precision_that_a_family_does_not_compute_in_is_refused(own: Policy) -> None:
    if families.family_of_model(own.model).model_type == "gemma3":
        with pytest.raises(ValueError, match=r"policy.dtype is float16; Gemma 3 .* set it to bfloat16"):
            tuning.freeze(own.model, "lora", "float16")
    else:
        tuning.freeze(own.model, "lora", "float16")
        assert own.model.dtype == torch.float16


RECIPES = Path(__file__).parents[2] / "conf" / "recipes"


@pytest.mark.parametrize("recipe", ["mrg_r1-mimic_cxr", "mrg_r1-iu_xray"])
def test_mrg_r1s_adapters_fit_every_base_of_its_study(family_folder: Path, recipe: str) -> None:
    params = read(RECIPES / f"{recipe}.yaml")
    for section in ("sft", "training"):
        check_targets(family_folder, getattr(params, section).lora.targets, f"{section}.lora")
