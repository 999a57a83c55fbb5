"""Trainings begin, go on and end with weights that are all there, or say by file and name what is not."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from damaged_weights import DAMAGES, damage, tensor
from peft import get_peft_model
from recorded_vllm import RecordedVllm
from safetensors.torch import load_file
from small_arms import SUPERVISED, TRAINING, Letters

from radrl.credit.uniform import Uniform
from radrl.policy import folder
from radrl.policy.folder import Policy
from radrl.policy.vllm_writer import VllmWriter
from radrl.rewards.base import Part, RewardSum
from radrl.storage.complete_weights import WeightsError
from radrl.training import checkpoints, shards
from radrl.training.checkpoints import seal
from radrl.training.reinforcement import grpo
from radrl.training.reinforcement.grpo import optimise, prompt_dataset
from radrl.training.reinforcement.samplers import VllmSampler
from radrl.training.supervised import fine_tuning
from radrl.training.supervised.fine_tuning import Examples, fine_tune
from radrl.training.tuning import lora_config

LORA = {"rank": 2, "alpha": 4, "dropout": 0.0, "targets": ["model.language_model.layers.*.mlp.*"]}
SETTINGS = SUPERVISED | {"epochs": 1, "batch_size": 2, "learning_rate": 1e-3, "lora": LORA}
GRPO = TRAINING | {"steps": 2, "rollouts": 2, "rollouts_at_once": 4, "checkpoint_every": 1, "lora": LORA}
ONE = {
    "full": ("model.safetensors", "model.layers.1.mlp.down_proj.weight"),
    "lora": ("adapter_model.safetensors", "layers.1.mlp.down_proj.lora_B.weight"),
}
Run = Callable[..., Any]


@pytest.fixture
def start(policy_folder: Path, tmp_path: Path) -> Path:
    shutil.copytree(policy_folder, tmp_path / "start")
    return tmp_path / "start"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return tmp_path / "work"


@pytest.fixture
def taught(start: Path, films: Any, texts: Any, prompt: str, work: Path) -> Run:
    def run(tunes: str = "full", dtype: str = "float32") -> Any:
        examples = Examples.asking(prompt, [(film,) for film in films(4)], texts(4))
        return fine_tune(
            folder.load(start),
            examples,
            settings=SETTINGS,
            seed=3,
            workspace=work,
            tunes=tunes,
            dtype=dtype,
        )

    return run


@pytest.fixture
def rewarded(start: Path, films: Any, texts: Any, prompt: str, work: Path) -> Run:
    prompts = prompt_dataset([(film,) for film in films(4)], texts(4), list("abcd"), prompt)

    def run(tunes: str = "full", policy: Policy | None = None, **settings: Any) -> Any:
        return optimise(
            policy or folder.load(start),
            prompts,
            reward=RewardSum([Part(Letters(), 1.0)]),
            credit=Uniform(),
            settings=GRPO | {"tunes": tunes} | settings,
            seed=3,
            workspace=work,
        )

    return run


def spoil(checkpoint: Path, tunes: str, kind: str) -> str:
    """Damage a checkpoint as if it had been written so; the tensor's name."""
    file, ending = ONE[tunes]
    (name,) = [name for name in load_file(checkpoint / file) if name.endswith(ending)]
    damage(checkpoint / file, name, kind)
    seal(checkpoint)
    return name


@pytest.mark.parametrize("tunes", ["full", "lora"])
@pytest.mark.parametrize("kind", DAMAGES)
def test_a_supervised_checkpoint_that_is_not_all_there_is_refused(
    taught: Run, killed_after: Any, work: Path, tunes: str, kind: str
) -> None:
    with killed_after(fine_tuning, 1):
        taught(tunes)
    name = spoil(work / "checkpoint-1", tunes, kind)
    with pytest.raises(WeightsError) as refused:
        taught(tunes)
    said = str(refused.value)
    assert said.startswith(str(work / "checkpoint-1"))
    assert ONE[tunes][0] in said
    assert ("unknown" if kind == "more" else name) in said
    assert said.endswith(f". {checkpoints.GO_ON}")


@pytest.mark.parametrize("tunes", ["full", "lora"])
def test_a_reinforced_checkpoint_with_no_numbers_is_refused(
    rewarded: Run, killed_after: Any, work: Path, tunes: str
) -> None:
    with killed_after(grpo, 1):
        rewarded(tunes)
    name = spoil(work / "checkpoint-1", tunes, "nan")
    with pytest.raises(WeightsError, match=f"has NaN or infinity in {name}. Delete the checkpoint"):
        rewarded(tunes)


def test_adapters_that_are_gone_are_named(policy: Policy, tmp_path: Path) -> None:
    adapted = get_peft_model(policy.model, lora_config(LORA, policy.model))
    with pytest.raises(WeightsError, match=r"adapter_model\.safetensors is not there\. Delete"):
        checkpoints.check_adapters(adapted, tmp_path)
    adapted.save_pretrained(tmp_path)
    checkpoints.check_adapters(adapted, tmp_path)
    content = (tmp_path / "adapter_model.safetensors").read_bytes()
    (tmp_path / "adapter_model.safetensors").write_bytes(content[:-1])
    with pytest.raises(WeightsError, match=r"adapter_model\.safetensors is cut short or damaged"):
        checkpoints.check_adapters(adapted, tmp_path)


@pytest.mark.parametrize("kind", ["gone", "more", "odd"])
def test_the_frozen_start_is_not_drawn_anew(rewarded: Run, start: Path, kind: str) -> None:
    """TRL reads it by itself, after the policy."""
    policy = folder.load(start)
    damage(*tensor(start, "model.layers.1.mlp.down_proj.weight"), kind)
    with pytest.raises(WeightsError, match=rf"{start}: model\.safetensors (lacks|has)"):
        rewarded(policy=policy)
    rewarded(policy=policy, kl=0.0, steps=1)  # without a frozen start nothing is read


def test_a_frozen_start_of_no_numbers_is_refused(rewarded: Run, start: Path) -> None:
    policy = folder.load(start)
    damage(*tensor(start, "model.layers.1.mlp.down_proj.weight"), "nan")
    with pytest.raises(WeightsError, match=r"the frozen start.* has NaN or infinity in .*down_proj\.weight"):
        rewarded(policy=policy)


def test_weights_that_the_asked_dtype_does_not_hold_are_refused(taught: Run, start: Path) -> None:
    with torch.no_grad():
        policy = folder.load(start)
        policy.model.model.visual.merger.ln_q.weight[0] = 1e5  # float16 ends at 65 504
        folder.save(policy, start)
    with pytest.raises(
        WeightsError, match=r"has NaN or infinity in .*merger\.ln_q\.weight\. Set policy\.dtype"
    ):
        taught("language", dtype="float16")


def _alone() -> Any:
    return SimpleNamespace(is_main_process=True, process_index=0, wait_for_everyone=lambda: None)


def test_an_engine_that_draws_is_handed_numbers(
    policy_folder: Path,
    policy: Policy,
    films: Callable[[int], Sequence[bytes]],
    tmp_path: Path,
    monkeypatch: Any,
) -> None:
    worker = RecordedVllm(policy_folder, tmp_path, monkeypatch)
    with closing(VllmWriter(policy_folder, dtype="float32", device="cpu", threads=1, draws=True)) as writer:
        sampler = VllmSampler(writer, GRPO, seed=0)
        with torch.no_grad():
            policy.model.lm_head.weight[0, 0] = torch.inf
        with pytest.raises(
            WeightsError, match=r"the policy that trains has NaN or infinity in .*\. Lower training\."
        ):
            sampler.draw(policy.model, [], [], accelerator=_alone(), step=0)
    assert [next(iter(request)) for request in worker.asked()] == ["open"]


def test_what_comes_together_of_shards_is_whole(policy: Policy) -> None:
    state = policy.model.state_dict()
    lacking = "model.language_model.norm.weight"

    def accelerator() -> Any:
        return SimpleNamespace(is_fsdp2=True, is_main_process=True, get_state_dict=lambda model: state)

    del state["lm_head.weight"]  # tied
    gathered = shards.gathered(accelerator(), policy.model, type(policy.model))
    assert gathered.lm_head.weight is gathered.get_input_embeddings().weight
    del state[lacking]
    with pytest.raises(WeightsError, match=rf"lacks {lacking}: nothing is written"):
        shards.gathered(accelerator(), policy.model, type(policy.model))
