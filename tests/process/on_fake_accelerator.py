"""Run by `test_devices` in a process of its own: models and what goes into them lie where params say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fake_accelerator
import numpy as np
import pytest
import torch
from fake_accelerator import NAME, Made, There

from radrl.labelers.chexbert import folder as chexberts
from radrl.labelers.chexbert import labeler as labelers
from radrl.labelers.chexbert.model import CheXbert
from radrl.labelers.chexbert.text import build_tokenizer
from radrl.pipelines.ceilings.nodes import _readers
from radrl.pipelines.generate.nodes import write_reports
from radrl.pipelines.rollouts.nodes import sample_rollouts
from radrl.policy import folder
from radrl.process.devices import DeviceError, place
from radrl.training import device_placement

Seen = dict[str, set[str]]
RANK = 3


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One of four processes on a machine with four accelerators."""
    fake_accelerator.register()
    monkeypatch.setenv("LOCAL_RANK", str(RANK))
    monkeypatch.setenv("WORLD_SIZE", "4")
    with Made():
        yield


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """One process; torch follows gradients on the first of such accelerators alone."""
    monkeypatch.delenv("LOCAL_RANK")
    monkeypatch.delenv("WORLD_SIZE")


def places(*tensors: Any) -> set[str]:
    return {str(each.device) for each in tensors if isinstance(each, torch.Tensor)}


@pytest.fixture
def policies(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Where policies lie whose vision tower or language model is asked, and what they are asked with."""
    seen: Seen = {"weights": set(), "inputs": set()}
    load = folder.load

    def watched(*given: Any, **named: Any) -> folder.Policy:
        policy = load(*given, **named)
        for module in (policy.model, policy.model.model.visual):
            module.register_forward_pre_hook(note, with_kwargs=True)
        return policy

    def note(module: torch.nn.Module, given: Any, named: Any) -> None:
        seen["weights"] |= places(*module.parameters(), *module.buffers())
        seen["inputs"] |= places(*given, *named.values())

    monkeypatch.setattr(folder, "load", watched)
    return seen


def everywhere(device: str) -> Seen:
    return {"weights": {device}, "inputs": {device}}


@pytest.mark.parametrize(("device", "where"), [("auto", f"{NAME}:{RANK}"), ("cpu", "cpu")])
def test_rollouts_are_drawn_where_params_say(
    small: dict[str, Any],
    make_corpus: Callable[..., Any],
    policy_folder: Path,
    tmp_path: Path,
    policies: Seen,
    device: str,
    where: str,
) -> None:
    settings = {"settings": small["rollouts"], "dtype": "float32", "prompt": "?", "seed": 0, "threads": 1}
    given = settings | {"corpus": make_corpus(["train"], studies=3), "start": policy_folder}
    drawn = list(sample_rollouts(**given, device=device, workspace=tmp_path / "asked"))
    assert policies == everywhere(where)
    on_cpu = list(sample_rollouts(**given, device="cpu", workspace=tmp_path / "cpu"))
    assert [shard.to_pylist() for shard in drawn] == [shard.to_pylist() for shard in on_cpu]


@pytest.mark.parametrize(("device", "where"), [("auto", f"{NAME}:{RANK}"), ("cpu", "cpu")])
def test_reports_are_written_where_params_say(
    small: dict[str, Any],
    make_corpus: Callable[..., Any],
    policy_folder: Path,
    policies: Seen,
    device: str,
    where: str,
) -> None:
    given = {"corpus": make_corpus(["test"], studies=3), "policy": policy_folder, "threads": 1, "seed": 0}
    given |= {"settings": small["generate"], "dtype": "float32", "prompts": small["prompts"]}
    written = write_reports(**given, device=device)
    assert policies == everywhere(where)
    assert written.equals(write_reports(**given, device="cpu"))


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A compact CheXbert of random weights, as the stage labeler leaves it."""
    from transformers import BertConfig

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    model = CheXbert(BertConfig(vocab_size=len(words), initializer_range=1.0, **sizes))
    chexberts.save(model.eval(), build_tokenizer(words), tmp_path / "chexbert_compact")
    return tmp_path


WORDS = ["the", "heart", "is", "big", "small", "no", ".", "effusion"]
REPORTS = ["the heart is big.", "no effusion. the heart is small", "effusion is big"]


def test_a_chexbert_reads_on_its_process_own_device(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from radrl.labelers.build import build

    seen: set[str] = set()
    settings = {"name": "chexbert_compact", "compact": {}}
    reader = build(settings, models, device="auto")
    assert isinstance(reader, labelers.CheXbertLabeler)
    assert places(*reader.model.parameters(), *reader.model.buffers()) == {f"{NAME}:{RANK}"}
    reader.model.register_forward_pre_hook(lambda _, given: seen.update(places(*given)))
    labels = reader.label(REPORTS)
    assert seen == {f"{NAME}:{RANK}"}
    assert len(np.unique(labels)) > 1
    assert (labels == build(settings, models).label(REPORTS)).all()


def test_a_chexberts_gradients_are_found_where_it_lies(models: Path, alone: None) -> None:
    from radrl.labelers.build import build
    from radrl.labelers.chexbert.saliency import token_saliency

    chosen = np.ones((len(REPORTS), 14), dtype=bool)
    there, here = (
        token_saliency(build({"name": "chexbert_compact"}, models, device=device), REPORTS, chosen)
        for device in ("auto", "cpu")
    )
    for own, other in zip(there.reports, here.reports, strict=True):
        assert own.values.any()
        assert own.values == pytest.approx(other.values, rel=1e-5)


def test_towers_and_the_label_network_compute_where_params_say(
    films: Callable[..., list[bytes]], policy_folder: Path, policies: Seen, alone: None
) -> None:
    network = {"channels": 2, "epochs": 1, "batch_size": 2, "learning_rate": 1e-3, "weight_decay": 0.0}
    settings = {"start": "base", "network": network, "probe": {"inverse_regularisation": 1.0}}
    targets = np.eye(4, 14, dtype=bool)
    found = {}
    for device in (place("auto"), torch.device("cpu")):
        for row, _, reader in _readers(
            settings, policy_folder, policy_folder, dtype="float32", seed=0, device=device
        ):
            shown = reader.prepare([(film,) for film in films(4)])
            reader.fit(shown, targets)
            found[row, device.type] = reader.probabilities(shown)
            if row == "label_network":
                assert places(*reader.network.parameters()) == {str(device)}
    assert policies == {key: {f"{NAME}:0", "cpu"} for key in policies}
    for row in ("label_network", "tower_probe_base"):
        assert found[row, NAME] == pytest.approx(found[row, "cpu"], rel=1e-3)


def test_a_trainer_that_would_compute_elsewhere_is_stopped(tmp_path: Path, alone: None) -> None:
    from transformers import TrainingArguments

    arguments = TrainingArguments(output_dir=str(tmp_path), **device_placement.arguments(torch.device("cpu")))
    device_placement.hold(arguments, torch.device("cpu"))
    with pytest.raises(DeviceError, match=rf"device is {NAME}:0, but training would run on cpu"):
        device_placement.hold(arguments, place("auto"))


def test_what_lies_elsewhere_is_refused() -> None:
    """Or none of the above would show anything."""
    there = torch.ones(2).to(place("auto"))
    assert isinstance(there, There)
    with pytest.raises(RuntimeError, match="expected all tensors to be on the same device"):
        there + torch.ones(2)
