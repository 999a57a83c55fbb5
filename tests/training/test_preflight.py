"""What is refused before weights are loaded: LoRA targets, what the machine does not have, too few films."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers.utils

from radrl.storage.pointers import pointing
from radrl.training.preflight import (
    SettingsError,
    check_bfloat16,
    check_films,
    check_precision,
    check_targets,
    check_training,
    linear_layers,
)

CPU = torch.device("cpu")
PROJECTIONS = [f"model.language_model.layers.*.{part}.*_proj" for part in ("self_attn", "mlp")]


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
    check_targets(folder, ["model.visual.blocks.0.attn.qkv", "model.visual.merger.*"], "sft.lora")
    with pytest.raises(SettingsError) as caught:
        check_targets(folder, [*PROJECTIONS, "model.language_model.layers.*.self_attn.v_porj"], "sft.lora")
    assert str(caught.value).startswith(
        "sft.lora.targets: 'model.language_model.layers.*.self_attn.v_porj' hits no linear layer of the "
        "policy; did you mean 'model.language_model.layers.*.self_attn.v_proj'"
    )


@pytest.mark.parametrize("target", ["q_proj", "mlp.up_proj"])
def test_end_of_a_path_is_refused_with_whole_paths(without_weights: Path, target: str) -> None:
    with pytest.raises(
        SettingsError, match=r"targets: .* is the end of a path; .* write 'model\.language_model"
    ):
        check_targets(without_weights, [target], "training.lora")


@pytest.mark.parametrize("target", ["proj_q", "self_attn", "layers", "oj", "*embed_tokens", "lm_head", ""])
def test_part_of_a_name_or_a_block_of_layers_is_no_target(without_weights: Path, target: str) -> None:
    with pytest.raises(SettingsError, match="hits no linear layer of the policy"):
        check_targets(without_weights, [target], "training.lora")


def test_layers_are_those_of_the_loaded_model(policy: Any, policy_folder: Path) -> None:
    modules = dict(policy.model.named_modules())
    layers = [name for name, module in modules.items() if isinstance(module, torch.nn.Linear)]
    assert [*linear_layers(policy_folder), "lm_head"] == layers


@pytest.mark.parametrize(
    ("device", "computes", "fits"), [("cpu", 0, True), ("cuda", 1, True), ("cuda", 0, False)]
)
def test_bfloat16_is_refused_on_a_gpu_that_has_none(
    monkeypatch: pytest.MonkeyPatch, device: str, computes: bool, fits: bool
) -> None:
    monkeypatch.setattr(transformers.utils, "is_torch_bf16_gpu_available", lambda: computes)
    if fits:
        check_bfloat16("training.bf16", torch.device(device))
        return
    with pytest.raises(SettingsError, match=r"^training\.bf16 is true, .* GPU does not .* set it to false$"):
        check_bfloat16("training.bf16", torch.device(device))


@pytest.mark.parametrize("installed", [True, False])
def test_8bit_optimizer_wants_its_package(monkeypatch: pytest.MonkeyPatch, installed: bool) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name if installed else None)
    key = "sft.{}".format
    check_precision({"bf16": False, "optimizer": "adamw"}, key, CPU)
    settings = {"bf16": False, "optimizer": "adamw_8bit"}
    if installed:
        check_precision(settings, key, CPU)
        return
    with pytest.raises(SettingsError, match=r"^sft\.optimizer is adamw_8bit, .* pip install .*bitsandbytes"):
        check_precision(settings, key, CPU)


def test_subset_smaller_than_a_step_is_refused_with_both_counts() -> None:
    check_films(8, {"prompts_per_step": 8})
    with pytest.raises(SettingsError, match=r"has 7 films, a step takes 8; lower training\.prompts_per_step"):
        check_films(7, {"prompts_per_step": 8})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"prompts_per_step": 5}, "has 4 films, a step takes 5"),
        ({"bf16": True}, "training.bf16 is true"),
        ({"optimizer": "adamw_8bit"}, "training.optimizer is adamw_8bit"),
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
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SettingsError) as caught:
        check_training(
            small["training"] | wrong,
            wrong if own else {},
            films=4,
            policy=without_weights,
            device=torch.device("cuda"),
        )
    assert message in str(caught.value)
    if "films" not in message:
        assert str(caught.value).startswith("the arm's ") == own


def test_targets_that_no_weights_are_trained_by_are_not_asked_after(
    small: dict[str, Any], without_weights: Path
) -> None:
    settings = small["training"] | {"tunes": "full", "lora": {"targets": ["query"]}}
    check_training(settings, {}, films=2, policy=without_weights, device=CPU)


@pytest.mark.parametrize(
    ("processes", "dropout", "warns"), [(1, 0.1, False), (2, 0.0, False), (2, 0.1, True)]
)
def test_dropout_of_several_processes_is_said_to_be_their_own(
    small: dict[str, Any],
    without_weights: Path,
    caplog: pytest.LogCaptureFixture,
    processes: int,
    dropout: float,
    warns: bool,
) -> None:
    adapters = {"lora": {"targets": PROJECTIONS, "dropout": dropout}, "tunes": "lora"}
    settings = small["training"] | adapters
    check_training(settings, adapters, films=2, policy=without_weights, device=CPU, processes=processes)
    said = ["the arm's training.lora.dropout is 0.1"] if warns else []
    assert [message.split(",")[0] for message in caplog.messages] == said
