"""Where models compute: what is asked, the launcher's variables and what the machine has decide it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from radrl.process.devices import DeviceError, check, device_of_process, pin, place, undisturbed


@pytest.mark.parametrize(
    ("asked", "kind", "count", "rank", "processes", "found"),
    [
        ("cpu", "cuda", 8, 3, 8, "cpu"),
        ("cuda", "cuda", 8, 0, 1, "cuda:0"),
        ("cuda", "cuda", 8, 3, 8, "cuda:3"),
        ("cuda", "cuda", 1, 3, 8, "cuda:0"),  # each process is shown its own alone
        ("cuda:1", "cuda", 2, 0, 1, "cuda:1"),
        ("xpu", "xpu", 4, 2, 4, "xpu:2"),
        ("mps", "mps", 1, 0, 1, "mps"),
        ("auto", "cuda", 8, 3, 8, "cuda:3"),
        ("auto", "mps", 1, 0, 1, "mps"),
        ("auto", None, 0, 3, 8, "cpu"),
    ],
)
def test_a_process_takes_its_own(
    asked: str, kind: str | None, count: int, rank: int, processes: int, found: str
) -> None:
    assert device_of_process(asked, kind, count, rank=rank, processes=processes) == found


@pytest.mark.parametrize(
    ("asked", "kind", "count", "rank", "processes", "message"),
    [
        (
            "cuda",
            None,
            0,
            0,
            1,
            "device is cuda, but this machine has none: torch finds no accelerator",
        ),
        (
            "cuda",
            "mps",
            1,
            0,
            1,
            "device is cuda, but this machine has none: its accelerator is mps",
        ),
        ("mps", None, 0, 0, 1, "device is mps, but this machine has none"),
        ("cuda:1", "cuda", 8, 0, 8, "device is cuda:1, which 8 processes would share; set it to cuda"),
        ("cuda:4", "cuda", 4, 0, 1, "for this process cuda:4, but there are 4 of it"),
        (
            "cuda",
            "cuda",
            4,
            5,
            8,
            "for this process cuda:5, but there are 4 of it; name one of",
        ),
    ],
)
def test_what_is_not_there_is_refused_by_name(
    asked: str, kind: str | None, count: int, rank: int, processes: int, message: str
) -> None:
    with pytest.raises(DeviceError, match=message):
        device_of_process(asked, kind, count, rank=rank, processes=processes)


@pytest.mark.parametrize("asked", ["gpu", "cuda:", "cuda:x", "cpu:0", "meta", ""])
def test_what_is_no_device_is_refused(asked: str) -> None:
    with pytest.raises(DeviceError, match="is no device; give one of cpu, cuda"):
        check(asked)


def test_ranks_and_accelerators_are_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without touching a GPU: torch is asked what there is, and makes a name of it."""
    accelerator = SimpleNamespace(
        current_accelerator=lambda check_available: torch.device("cuda"), device_count=lambda: 8
    )
    monkeypatch.setattr(torch, "accelerator", accelerator)
    monkeypatch.setenv("LOCAL_RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "8")
    assert place("cuda") == place("auto") == torch.device("cuda", 3)
    assert place("cpu") == torch.device("cpu")
    with pytest.raises(DeviceError, match="cuda:1, which 8 processes would share"):
        place("cuda:1")


@pytest.mark.parametrize(("device", "deterministic"), [("cpu", True), ("cuda:0", False), ("mps", False)])
def test_bytes_are_promised_on_the_cpu_alone(
    monkeypatch: pytest.MonkeyPatch, device: str, deterministic: bool
) -> None:
    said: list[Any] = []
    monkeypatch.setattr(torch, "use_deterministic_algorithms", lambda *own, **more: said.append((own, more)))
    pin(1, torch.device(device))
    assert said == [((deterministic,), {})]


def test_draws_on_the_cpu_are_forgotten() -> None:
    torch.manual_seed(1)
    first = torch.rand(2)
    torch.manual_seed(1)
    with undisturbed(torch.device("cpu")):
        torch.rand(5)
    assert torch.equal(torch.rand(2), first)


def test_models_and_inputs_land_where_params_say(root: Path) -> None:
    """On an accelerator that refuses tensors of elsewhere, and stays once it is there: in another process."""
    script = Path(__file__).with_name("on_fake_accelerator.py")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", root, script],
        cwd=root,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
