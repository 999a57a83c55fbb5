"""Weights through memory: what arrives is what a folder would have held, and nothing stays."""

from __future__ import annotations

import copy
import mmap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import get_peft_model
from safetensors.torch import load_file
from vllm_worker_reads import worker_reads

from radrl.policy import folder, shared_prefill, weight_transfer
from radrl.policy.weight_transfer import WeightMemory
from radrl.storage.complete_weights import WeightsError
from radrl.training import tuning

LORA = {"rank": 4, "alpha": 8, "dropout": 0.0, "targets": ["*q_proj", "*mlp.*_proj"]}
MEND = "Mend it."
MEMORY = Path("/dev/shm")


@pytest.fixture(name="read")
def _read() -> Callable[[Any], Any]:
    return worker_reads()


def test_names_that_are_known_are_not_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, known = torch.nn.Linear(1, 1), {"weight": "model.weight"}

    monkeypatch.setattr(weight_transfer, "published_names", lambda model, name: [f"new.{name}"])
    found = weight_transfer.published(layer, layer.state_dict().items(), known)
    assert [name for name, _ in found] == ["model.weight", "new.bias"]
    assert known == {"weight": "model.weight", "bias": "new.bias"}


def sent(model: Any) -> Any:
    """The weights of a model as a sampler hands them over."""
    return weight_transfer.published(shared_prefill.bare(model), tuning.plain_weights(model))


def adapted(model: Any) -> Any:
    """The same with adapters that have learnt something, on a base in bfloat16."""
    tuning.freeze(model, "lora", "bfloat16")
    found = get_peft_model(model, tuning.lora_config(LORA, model))
    with torch.no_grad():
        for name, weight in found.named_parameters():
            if "lora_B" in name:
                weight.normal_(generator=torch.Generator().manual_seed(len(name)))
    return found


@pytest.mark.parametrize("adapters", [False, True], ids=["whole", "adapters"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_what_arrives_is_what_a_folder_would_hold(
    family_folder: Path, tmp_path: Path, read: Callable[[Any], Any], dtype: str, adapters: bool
) -> None:
    model = folder.load(family_folder).model
    model = adapted(model) if adapters else model
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    tuning.finished(copy.deepcopy(model)).save_pretrained(tmp_path)
    expected = load_file(tmp_path / "model.safetensors")
    memory = WeightMemory(folder.DTYPES[dtype])
    for _ in range(2):  # the second time where the first one lay
        found = dict(read(memory.lay(sent(model), mend=MEND)))
    assert found.keys() == expected.keys()
    for name, weight in found.items():
        wanted = expected[name].to(folder.DTYPES[dtype])
        assert weight.dtype == wanted.dtype
        assert torch.equal(weight, wanted), name
    after = model.state_dict()
    assert all(torch.equal(after[name], weight) for name, weight in before.items())


def test_memory_is_kept_from_one_time_to_the_next_and_nothing_stays_behind(
    policy_folder: Path, read: Callable[[Any], Any]
) -> None:
    model, before = folder.load(policy_folder).model, set(MEMORY.iterdir())
    memory = WeightMemory(torch.float32)
    told = memory.lay(sent(model), mend=MEND)
    size = Path(told["file"]).stat().st_size
    weights = [*model.parameters()]
    page = mmap.ALLOCATIONGRANULARITY
    assert size == sum(-(-4 * weight.numel() // page) * page for weight in weights)
    with torch.no_grad():
        for weight in weights:
            weight += 1
    assert memory.lay(sent(model), mend=MEND) == told
    assert Path(told["file"]).stat().st_size == size
    found = dict(read(told))
    assert all(torch.equal(found[name], weight) for name, weight in sent(model))
    assert set(MEMORY.iterdir()) <= before
    memory.close()
    memory.close()
    assert not Path(told["file"]).exists()


def test_a_weight_that_is_laid_down_may_still_be_freed_where_it_trains() -> None:
    """As FSDP2 frees what it gathered for a pass: exporting it to numpy would forbid it."""
    weight = torch.ones(3)
    WeightMemory(torch.float32).lay([("weight", weight)], mend=MEND)
    weight.untyped_storage().resize_(0)
    assert weight.untyped_storage().nbytes() == 0


def test_weights_that_are_no_numbers_are_named(policy_folder: Path) -> None:
    model = folder.load(policy_folder).model
    with torch.no_grad():
        model.model.visual.patch_embed.proj.weight.view(-1)[3] = torch.nan
    with pytest.raises(WeightsError, match=rf"NaN or infinity in \S*patch_embed\.proj\.weight.*{MEND}"):
        WeightMemory(torch.float32).lay(sent(model), mend=MEND)


def test_a_weight_that_a_checkpoint_has_in_pieces_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight_transfer, "published_names", lambda *_: ["a", "b"])
    with pytest.raises(WeightsError, match=r"fused of Linear is 2 tensors.*training\.engine to hf"):
        list(weight_transfer.published(torch.nn.Linear(1, 1), [("fused", torch.ones(1))]))
