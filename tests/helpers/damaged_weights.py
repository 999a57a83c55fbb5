"""Weight files that are not what their model has: a tensor gone, one more, no number, another shape."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

Weights = dict[str, torch.Tensor]
UNKNOWN = "model.unknown.weight"


def _gone(weights: Weights, name: str) -> None:
    del weights[name]


def _more(weights: Weights, name: str) -> None:
    weights[UNKNOWN] = torch.zeros(2)


def _nan(weights: Weights, name: str) -> None:
    weights[name].view(-1)[-1] = torch.nan


def _inf(weights: Weights, name: str) -> None:
    weights[name].view(-1)[0] = -torch.inf


def _odd(weights: Weights, name: str) -> None:
    weights[name] = torch.zeros(7)


DAMAGES: dict[str, tuple[Callable[[Weights, str], None], str]] = {
    "gone": (_gone, "lacks {}"),
    "more": (_more, f"has {UNKNOWN}, unknown to the model"),
    "nan": (_nan, "has NaN or infinity in {}"),
    "inf": (_inf, "has NaN or infinity in {}"),
    "odd": (_odd, r"has {} of shape \(7,\), not \("),
}
"""What is done to a tensor of a file, and what is then said, with {} for its name."""


def damage(file: Path, name: str, kind: str) -> None:
    """Put in a file's place one that is damaged at one tensor: a model may have mapped the former."""
    weights = load_file(file)
    DAMAGES[kind][0](weights, name)
    save_file(weights, file.with_suffix(".new"), metadata={"format": "pt"})
    file.with_suffix(".new").replace(file)


def tensor(folder: Path, ending: str) -> tuple[Path, str]:
    """The only tensor of a folder whose name ends so, and its file."""
    held = [(file, name) for file in folder.glob("*.safetensors") for name in load_file(file)]
    (found,) = [(file, name) for file, name in held if name.endswith(ending)]
    return found


def shard(folder: Path) -> None:
    """Part a folder's single file into two, every other tensor in each, with their index."""
    whole = load_file(folder / "model.safetensors")
    names = sorted(whole)
    index = {}
    for number in (1, 2):
        file = f"model-0000{number}-of-00002.safetensors"
        own = names[number - 1 :: 2]
        save_file({name: whole[name] for name in own}, folder / file, metadata={"format": "pt"})
        index |= dict.fromkeys(own, file)
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {"total_size": 1}, "weight_map": index})
    )
