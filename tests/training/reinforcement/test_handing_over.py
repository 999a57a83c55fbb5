"""How weights reach an engine and what it is asked, the engine and its process only pretended."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from radrl.policy.vllm_writer import seed_of
from radrl.training.reinforcement import ArmSettings, samplers
from radrl.training.reinforcement.samplers import VllmSampler
from radrl.training.watching.history_rows import DIVERGED

HOW = {"max_new_tokens": 6, "temperature": 0.7, "top_p": 0.9}


class Model(torch.nn.Module):
    """Two weights."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))


class Engine:
    """Notes what it is asked, in order, and what it was handed to load."""

    def __init__(self, *given: Any, **settings: Any) -> None:
        self.given, self.settings = given, settings
        self.asked: list[tuple[Any, ...]] = []

    def load(self, weights: Any, *, mend: str) -> None:
        self.asked.append(("load", [(name, weight.tolist()) for name, weight in weights], mend))

    def draw(self, films: Any, prompt: str, *, seeds: Any, **how: Any) -> list[str]:
        self.asked.append(("draw", films, prompt, seeds, how))
        return ["drawn"] * len(films)

    def close(self) -> None:
        self.asked.append(("close",))


def sampler(engine: Engine) -> VllmSampler:
    return VllmSampler(engine, HOW | {"steps": 9}, seed=5)  # type: ignore[arg-type]


def process(index: int) -> Any:
    """One of two."""
    return SimpleNamespace(process_index=index)


def film(value: int) -> Image.Image:
    return Image.fromarray(np.full((3, 4), value, np.uint8))


@pytest.mark.parametrize("index", [0, 1])
def test_each_process_hands_the_weights_to_its_own_engine(index: int) -> None:
    engine = Engine()
    films = [(film(1),), (film(2), film(3))]
    asked, there = ["Write.", "Write briefly."], process(index)
    found = sampler(engine).draw(Model(), films, asked, accelerator=there, step=7)
    assert found == ["drawn"] * 2
    *handed, (verb, given, prompts, seeds, how) = engine.asked
    assert handed == [("load", [("weight", [1.0, 1.0])], DIVERGED)]
    assert (verb, prompts, how) == ("draw", asked, HOW)
    # of a row's place among those of all processes, two of which come before the second's
    assert seeds == [seed_of(5, 7, 2 * index), seed_of(5, 7, 2 * index + 1)]
    seen = [[np.asarray(Image.open(io.BytesIO(data)))[0, 0] for data in own] for own in given]
    assert seen == [[1], [2, 3]]


def settings(device: str, **training: Any) -> ArmSettings:
    own = HOW | {"engine": "vllm", "bf16": False} | training
    return ArmSettings({}, own, {}, "float32", "Write.", 5, 3, device)


@pytest.mark.parametrize(
    ("several", "device", "place"),
    [(False, "cuda", "cuda"), (True, "cuda", "cuda:1"), (True, "cpu", "cpu"), (False, "cpu", "cpu")],
)
def test_engine_is_the_processs_own_for_a_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, several: bool, device: str, place: str
) -> None:
    monkeypatch.setattr(samplers, "VllmWriter", Engine)
    monkeypatch.setattr(samplers, "check", lambda *_: None)
    monkeypatch.setattr(samplers, "processes", lambda: 2 if several else 1)
    monkeypatch.setattr(samplers, "local_rank", lambda: 1)
    with samplers.opened(settings(device), Path("start"), {"timeout": 9.0}) as found:
        engine: Any = found.writer  # type: ignore[union-attr]
        told = engine.settings
        assert engine.given == (Path("start"),)
        assert (told["dtype"], told["device"], told["threads"], told["draws"]) == ("float32", place, 3, True)
        assert told["compute"].timeout == 9.0
        alone = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "TORCHELASTIC_USE_AGENT_STORE": "False"}
        assert told["variables"] == (alone if several else None)
        assert found.how == HOW  # type: ignore[union-attr]
        assert engine.asked == []
    assert engine.asked == [("close",)]


def test_engine_computes_as_the_training_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samplers, "VllmWriter", Engine)
    monkeypatch.setattr(samplers, "check", lambda *_: None)
    with samplers.opened(settings("cpu", bf16=True), Path("start"), {}) as found:
        engine: Any = found.writer  # type: ignore[union-attr]
        assert engine.settings["dtype"] == "bfloat16"


def test_checks_come_before_an_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(samplers, "VllmWriter", lambda *_, **__: pytest.fail("it was started"))
    monkeypatch.setattr(samplers, "interpreter", lambda *given: asked.append(given))
    monkeypatch.setattr(samplers, "place_of", lambda device: (_ for _ in ()).throw(ValueError(device)))
    with (
        pytest.raises(ValueError, match="tpu"),
        samplers.opened(settings("tpu"), Path("start"), {"python": "absent"}),
    ):
        pytest.fail("it was opened")
    ((python, *_),) = asked
    assert str(python).endswith("absent")
    monkeypatch.setattr(samplers, "place_of", asked.append)
    samplers.check(settings("cuda"), {"python": "absent"})
    assert asked[-1] == "cuda"
    samplers.check(settings("nowhere", engine="hf"), {})
    assert len(asked) == 3  # hf needs nothing
