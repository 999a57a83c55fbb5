"""Nodes of training stages, run and killed as a stage would be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest


class Killed(RuntimeError):
    """Stands for the signal that ends a process."""


@pytest.fixture
def silent() -> Callable[[int, Mapping[str, float]], None]:
    return lambda step, metrics: None


@pytest.fixture
def other_policy(policy_folder: Path, tmp_path: Path) -> Path:
    """The policy's folder but for one byte: other work, to a stage that starts from it."""
    other = tmp_path / "other"
    other.mkdir()
    for file in policy_folder.iterdir():
        added = b" " if file.name == "tokenizer_config.json" else b""
        (other / file.name).write_bytes(file.read_bytes() + added)
    return other


@pytest.fixture
def killed() -> Callable[..., Any]:
    """Run a training node until it reports a step, and let it die there."""

    def run(node: Callable[..., Any], step: int, **inputs: Any) -> None:
        def report(at: int, metrics: Mapping[str, float]) -> None:
            if at == step:
                raise Killed

        with pytest.raises(Killed):
            node(**inputs, step_report=report)

    return run


@pytest.fixture
def written(
    tmp_path: Path, contents: Callable[[Path], dict[str, bytes]]
) -> Callable[[Any], dict[str, bytes]]:
    """What a node's writer puts into a new folder."""

    def run(writer: Callable[[Path], None]) -> dict[str, bytes]:
        folder = tmp_path / f"written{len(list(tmp_path.glob('written*')))}"
        folder.mkdir()
        writer(folder)
        return contents(folder)

    return run


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A CheXbert that nobody trained, as the stage labeler leaves one."""
    import torch
    from transformers import BertConfig

    from radrl.labelers.chexbert import folder
    from radrl.labelers.chexbert.model import SPECIAL, CheXbert, build_tokenizer

    letters = "abcdefghijklmnopqrstuvwxyz"
    tokenizer = build_tokenizer([*SPECIAL, *letters, *(f"##{x}" for x in letters)])
    sizes = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 40}
    torch.manual_seed(0)
    model = CheXbert(BertConfig(vocab_size=len(tokenizer), initializer_range=0.3, **sizes))
    target = tmp_path / "labeler" / "chexbert_compact"
    target.mkdir(parents=True)
    folder.save(model, tokenizer, target)
    return target.parent
