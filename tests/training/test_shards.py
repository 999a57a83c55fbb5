"""Engines and checkpoints that are refused; what shards compute is in test_two_(tuning_)processes."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from accelerate.utils import DistributedType
from torch.profiler import ProfilerActivity, profile
from torch.utils.checkpoint import checkpoint

from radrl.training import shards
from radrl.training.preflight import SettingsError


def accelerator(kind: str, fsdp2: bool = False) -> SimpleNamespace:
    return SimpleNamespace(distributed_type=DistributedType(kind), is_fsdp2=fsdp2)


@pytest.mark.parametrize("tunes", ["full", "vision", "lora"])
@pytest.mark.parametrize("kind", ["NO", "MULTI_CPU", "MULTI_GPU"])
def test_whole_weights_train_whatever_is_tuned(kind: str, tunes: str) -> None:
    shards.check(accelerator(kind), tunes)


@pytest.mark.parametrize("tunes", ["full", "vision", "language"])
def test_shards_train_whole_parts_of_a_policy(tunes: str) -> None:
    shards.check(accelerator("FSDP", fsdp2=True), tunes)


@pytest.mark.parametrize(
    ("kind", "fsdp2", "tunes", "says"),
    [
        ("DEEPSPEED", False, "full", "asks for DEEPSPEED; weights are parted by FSDP2 alone"),
        ("FSDP", False, "full", "asks for FSDP; weights are parted by FSDP2 alone"),
        ("FSDP", True, "lora", "set compute.config to conf/accelerate/ddp.yaml"),
    ],
)
def test_other_engines_are_refused(kind: str, fsdp2: bool, tunes: str, says: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(says)):
        shards.check(accelerator(kind, fsdp2), tunes)


def test_shards_that_a_cpu_would_leave_out_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    with pytest.raises(SettingsError, match="leaves out on CPUs without a word"):
        shards.check(accelerator("MULTI_CPU"), "full")


@pytest.mark.parametrize("parted", [False, True])
def test_a_checkpoint_is_gone_on_from_by_the_engine_that_wrote_it(tmp_path: Path, parted: bool) -> None:
    whole, shared = accelerator("MULTI_GPU"), accelerator("FSDP", fsdp2=True)
    checkpoint = tmp_path / "checkpoint-3"
    (checkpoint / ("pytorch_model_fsdp_0" if parted else "somewhere_else")).mkdir(parents=True)
    for one in (whole, shared):
        shards.check_checkpoint(one, None)
    shards.check_checkpoint(shared if parted else whole, checkpoint)
    with pytest.raises(SettingsError) as refused:
        shards.check_checkpoint(whole if parted else shared, checkpoint)
    said = str(refused.value)
    before, now = said.split("and now they would be")
    assert ("parted among processes" in before) is parted
    assert ("parted among processes" in now) is not parted
    assert f"set compute.config to what it was, or delete {tmp_path}" in said


class Stack(torch.nn.Module):
    """Eight layers that are computed again in the backward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(256, 256) for _ in range(8))
        self.cached: list[bool] = []

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        self.cached.append(torch.is_autocast_cache_enabled())
        for layer in self.layers:
            states = checkpoint(layer, states, use_reentrant=False).relu()
        return states


def update(*, by_layer: bool) -> tuple[int, list[torch.Tensor]]:
    """Bytes that torch's allocator gave out at the most in an update, weights aside; and its gradients."""
    torch.manual_seed(0)
    stack = Stack()
    for weight in stack.parameters():
        weight.grad = torch.zeros_like(weight)
    if by_layer:
        shards.cast_by_layer(stack, "cpu")
    states = torch.randn(2, 256)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        with torch.autocast("cpu", torch.bfloat16):
            found = stack(states)
        found.float().square().sum().backward()
    events = [event for event in seen.profiler.kineto_results.events() if event.name() == "[memory]"]
    now = most = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        now += event.nbytes()
        most = max(most, now)
    return most, [weight.grad for weight in stack.parameters() if weight.grad is not None]


def test_copies_of_autocast_go_with_their_layer_and_no_gradient_changes() -> None:
    kept, expected = update(by_layer=False)
    left, found = update(by_layer=True)
    copies = 2 * 8 * 256 * 256
    assert kept > copies
    # a layer's copy, its gradient in bfloat16 and then in float32, and activations
    assert left < copies / 8 * 4
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))


def test_passes_that_write_keep_the_copies() -> None:
    stack = Stack()
    shards.cast_by_layer(stack, "cpu")
    with torch.autocast("cpu", torch.bfloat16):
        with torch.no_grad():
            stack(torch.randn(2, 256))
        stack(torch.randn(2, 256))
    assert stack.cached == [True, False]


def test_where_processes_hold_parts_no_pass_keeps_the_copies() -> None:
    stack = Stack()
    shards.cast_by_layer(stack, "cpu", always=True)
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        stack(torch.randn(2, 256))
    assert stack.cached == [False]
