"""Engines that train as one process does, and those that are refused; the rest is in test_two_processes."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from accelerate.utils import DistributedType

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
