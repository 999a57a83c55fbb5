"""What may be used again after a kill."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from transformers import Trainer
from transformers.trainer_pt_utils import LengthGroupedSampler
from transformers.training_args import ParallelMode
from trl.trainer.utils import RepeatSampler

from radrl.policy.folder import Policy
from radrl.storage.workspaces import claim
from radrl.training import checkpoints
from radrl.training.checkpoints import SEAL, EpochOrder, RestoresDraws, last_checkpoint, seal, writing


def checkpoint(workspace: Path, step: int, *, sealed: bool = True) -> Path:
    folder = workspace / f"checkpoint-{step}"
    (folder / "optimizer").mkdir(parents=True)
    (folder / "trainer_state.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "optimizer" / "shard").write_bytes(b"moments")
    if sealed:
        seal(folder)
    return folder


def test_last_checkpoint_is_the_newest_complete_one_by_number(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert last_checkpoint(tmp_path / "not there") is None
    assert last_checkpoint(tmp_path) is None
    checkpoint(tmp_path, 90)
    newest = checkpoint(tmp_path, 100)
    checkpoint(tmp_path, 110, sealed=False)  # killed before it was written to its end
    assert last_checkpoint(tmp_path) == newest
    assert caplog.text == ""


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def turn(file: Path) -> None:
    """One bit, as a disk loses it: the size stays."""
    held = file.read_bytes()
    file.write_bytes(bytes([held[0] ^ 1]) + held[1:])


@pytest.mark.parametrize("damage", [cut, turn, Path.unlink], ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("name", ["model.safetensors", "optimizer/shard", "trainer_state.json", SEAL])
def test_an_altered_checkpoint_is_named_and_passed_over_for_the_one_before(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[Path], None], name: str
) -> None:
    before, newest = checkpoint(tmp_path, 100), checkpoint(tmp_path, 110)
    damage(newest / name)
    assert last_checkpoint(tmp_path) == before
    if (newest / SEAL).is_file():
        assert f"checkpoint-110 is passed over: {name} is not what was written there" in caplog.text
    damage(before / "model.safetensors")
    assert last_checkpoint(tmp_path) is None
    assert "checkpoint-100 is passed over: model.safetensors" in caplog.text


def test_writing_a_policy_clears_its_checkpoints(policy: Policy, tmp_path: Path) -> None:
    claim(tmp_path / "work", "one")
    (tmp_path / "policy").mkdir()
    writing(policy, tmp_path / "work")(tmp_path / "policy")
    assert (tmp_path / "policy" / "model.safetensors").is_file()
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize("grouped", [True, False])
def test_order_follows_seed_and_epoch_alone(grouped: bool) -> None:
    lengths = [i // 4 for i in range(64)]
    epoch = 0
    inner = (
        LengthGroupedSampler(4, lengths=lengths)
        if grouped
        else RepeatSampler(lengths, mini_repeat_count=1, seed=9)
    )
    order = EpochOrder(inner, seed=0, epoch=lambda: epoch)
    first, again = list(order), list(order)
    epoch = 1
    second = list(order)
    assert first == again != second
    assert sorted(first) == sorted(second) == list(range(len(order)))
    assert list(EpochOrder(inner, seed=1, epoch=lambda: 0)) not in (first, second)
    if grouped:
        batches = [[lengths[j] for j in first[i : i + 4]] for i in range(0, 64, 4)]
        spreads = [max(batch) - min(batch) for batch in batches]
        assert sum(spreads) / len(spreads) < 5  # of four drawn from 0 to 15 at random it would be 10


class Resuming(RestoresDraws, Trainer):
    """A trainer of which only what draws are gone on with by is there."""

    def __init__(self, processes: int) -> None:
        several = ParallelMode.DISTRIBUTED if processes > 1 else ParallelMode.NOT_PARALLEL
        self.args = SimpleNamespace(world_size=processes, process_index=0, parallel_mode=several)


@pytest.mark.parametrize("before", [1, 2])
@pytest.mark.parametrize("after", [1, 2])
def test_draws_go_on_whatever_number_of_processes_does(tmp_path: Path, before: int, after: int) -> None:
    torch.manual_seed(5)
    Resuming(before)._save_rng_state(str(tmp_path))
    expected = torch.rand(3)
    torch.manual_seed(6)
    Resuming(after)._load_rng_state(str(tmp_path))
    assert torch.equal(torch.rand(3), expected)


def test_a_process_that_is_not_the_first_takes_no_others_draws(tmp_path: Path) -> None:
    Resuming(1)._save_rng_state(str(tmp_path))
    second = Resuming(2)
    second.args.process_index = 1
    second._load_rng_state(str(tmp_path))
    assert [file.name for file in tmp_path.iterdir()] == ["rng_state.pth"]


def test_a_devices_state_is_one_or_a_list_of_them(tmp_path: Path) -> None:
    """As transformers keeps it of one process, and of each of several."""
    states = torch.tensor([1, 2], dtype=torch.uint8)
    torch.save({"cuda": states}, tmp_path / "rng_state.pth")
    checkpoints._name_first(tmp_path, alone=False)
    (own,) = torch.load(tmp_path / "rng_state_0.pth", weights_only=True)["cuda"]
    assert torch.equal(own, states)
    (tmp_path / "rng_state.pth").unlink()
    checkpoints._name_first(tmp_path, alone=True)
    assert torch.equal(torch.load(tmp_path / "rng_state.pth", weights_only=True)["cuda"], states)


def test_optimizer_is_restored_to_the_device_that_transformers_names_of_several_cpus(tmp_path: Path) -> None:
    """Releases of transformers before 5.23 ask for `cpu:0` where two processes train on CPUs."""
    torch.save({"moments": torch.arange(3.0)}, tmp_path / "optimizer.pt")

    checkpoints.accept_indexed_cpu()
    restored = torch.load(tmp_path / "optimizer.pt", map_location=torch.device("cpu", 0), weights_only=True)

    assert restored["moments"].tolist() == [0.0, 1.0, 2.0]
    assert restored["moments"].device.type == "cpu"
