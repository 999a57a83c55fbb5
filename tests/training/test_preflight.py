"""What is refused before weights are loaded: LoRA targets, a GPU that is not there, too few films."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import transformers.utils

from radrl.storage.pointers import pointing
from radrl.training.preflight import (
    SettingsError,
    check_bfloat16,
    check_films,
    check_targets,
    check_training,
    linear_layers,
)

PROJECTIONS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


@pytest.fixture
def without_weights(policy_folder: Path, tmp_path: Path) -> Path:
    """A policy's configuration alone."""
    (tmp_path / "config.json").write_bytes((policy_folder / "config.json").read_bytes())
    return tmp_path


@pytest.fixture
def pointer(without_weights: Path) -> Path:
    """What `policy.path` makes: a folder that points at the policy."""
    folder = without_weights / "pointer"
    folder.mkdir()
    pointing(without_weights, [without_weights / "config.json"])(folder)
    return folder


@pytest.mark.parametrize("policy", ["without_weights", "pointer"])
def test_target_that_names_no_layer_is_refused_with_the_nearest(
    request: pytest.FixtureRequest, policy: str
) -> None:
    folder = request.getfixturevalue(policy)
    check_targets(folder, PROJECTIONS, "sft.lora")
    check_targets(folder, ["layers.0.self_attn.q_proj", "attn.qkv"], "sft.lora")
    with pytest.raises(SettingsError) as caught:
        check_targets(folder, ["q_proj", "v_porj"], "sft.lora")
    assert str(caught.value) == (
        "sft.lora.targets: 'v_porj' is no linear layer of the policy; did you mean 'v_proj'? Its layers: "
        "0, 2, down_proj, gate_proj, k_proj, lm_head, o_proj, proj, q_proj, qkv, up_proj, v_proj"
    )


@pytest.mark.parametrize("target", ["proj_q", "self_attn", "layers", "oj", "embed_tokens", ""])
def test_part_of_a_name_or_a_block_of_layers_is_no_target(without_weights: Path, target: str) -> None:
    with pytest.raises(SettingsError, match="is no linear layer of the policy"):
        check_targets(without_weights, [target], "training.lora")


def test_layers_are_those_of_the_loaded_model(policy: Any, policy_folder: Path) -> None:
    import torch

    modules = policy.model.named_modules()
    assert linear_layers(policy_folder) == [n for n, m in modules if isinstance(m, torch.nn.Linear)]


def test_bfloat16_wants_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transformers.utils, "is_torch_bf16_gpu_available", lambda: True)
    check_bfloat16("training.bf16")
    monkeypatch.setattr(transformers.utils, "is_torch_bf16_gpu_available", lambda: False)
    with pytest.raises(SettingsError, match=r"^training\.bf16 is true, .* no GPU .* set it to false$"):
        check_bfloat16("training.bf16")


def test_subset_smaller_than_a_step_is_refused_with_both_counts() -> None:
    check_films(8, {"prompts_per_step": 8})
    with pytest.raises(SettingsError, match=r"has 7 films, a step takes 8; lower training\.prompts_per_step"):
        check_films(7, {"prompts_per_step": 8})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"prompts_per_step": 5}, "has 4 films, a step takes 5"),
        ({"bf16": True}, "training.bf16 is true"),
        ({"tunes": "lora", "lora": {"targets": ["query"]}}, "training.lora.targets: 'query'"),
    ],
)
@pytest.mark.parametrize("own", [True, False])
def test_key_is_the_arms_where_the_arm_sets_it(
    small: dict[str, Any],
    without_weights: Path,
    monkeypatch: pytest.MonkeyPatch,
    wrong: dict[str, Any],
    message: str,
    own: bool,
) -> None:
    monkeypatch.setattr(transformers.utils, "is_torch_bf16_gpu_available", lambda: False)
    with pytest.raises(SettingsError) as caught:
        check_training(small["training"] | wrong, wrong if own else {}, films=4, policy=without_weights)
    assert message in str(caught.value)
    if "films" not in message:
        assert str(caught.value).startswith("the arm's ") == own


def test_targets_that_no_weights_are_trained_by_are_not_asked_after(
    small: dict[str, Any], without_weights: Path
) -> None:
    settings = small["training"] | {"tunes": "full", "lora": {"targets": ["query"]}}
    check_training(settings, {}, films=2, policy=without_weights)
