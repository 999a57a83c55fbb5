"""A recipe on this machine: whether the schema takes it; the data, weights and interpreters that it names."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

from radrl.doctor import Check, size
from radrl.params.messages import ParamsError, local_paths
from radrl.params.schema import Params, read
from radrl.process.devices import DeviceError, place
from radrl.storage.digests import sha256


def settings(recipe: Path) -> tuple[Params | None, Check]:
    """Read a recipe, and say whether it is valid.

    Args:
        recipe: params.yaml or another file of its form.

    Returns:
        The parameters, nothing where the schema refuses them; and what it says.
    """
    try:
        params = read(recipe)
    except (ParamsError, FileNotFoundError) as error:
        return None, Check("parameters", str(error), "lacking", "every stage", f"mend {recipe.name}")
    arms = ", ".join(params.arms)
    return params, Check(
        "parameters", f"valid; source {params.ingest.source}, device {params.device}, arms {arms}"
    )


WEIGHTS: Final = (".safetensors", ".bin", ".pt", ".pth", ".th", ".ckpt", ".gguf")
"""Endings of files that hold weights."""

_COSTS: Final = {
    "ingest": "the stage ingest, and all that follow",
    "policy": "the stage policy, and all that follow",
    "labeler": "labels by CheXbert",
    "eval": "this family of metrics",
    "compute": "trainings over several processes",
    "arms": "this arm's reward",
}
_MENDS: Final = {
    "ingest": "docs/data.md says how a data set is had and where it is laid",
    "policy": "get the weights by your own account (docs/policies.md); null builds the laptop policy",
    "labeler": "a folder with the published chexbert.pth and bert-base-uncased's vocab.txt (docs/scoring.md)",
    "eval": "docs/metrics.md; environments of other packages: make scorers",
}


def device_and_files(params: Params, root: Path, *, hashed: bool = True) -> Iterator[Check]:
    """The device, files and folders that a recipe's stages use.

    Args:
        params: the recipe.
        root: the project, from which paths are read.
        hashed: whether weights are read through for their SHA-256.
    """
    yield _device(params.device)
    for key in sorted(local_paths(params)):
        value = _at(params, key)
        if value is None or not _asked(key, params) or key.endswith(".cache"):
            continue
        path = root / Path(value).expanduser()
        if path.exists():
            yield Check(key, f"{value}, {_told(path, hashed)}")
        else:
            section = key.split(".")[0]
            said = f"{value}: nothing is there" + (f" ({path})" if str(path) != value else "")
            yield Check(key, said, "lacking", _COSTS.get(section, ""), _MENDS.get(section, f"mend {key}"))
    yield from _left_out(params)


_OPENED_BY: Final = {"ingest": "ingest", "policy": "policy"}
"""By section, the one stage that opens what it names; what others name several stages open."""


def refusal(recipe: Path) -> str:
    """What the schema says against a recipe; nothing where it takes it.

    Args:
        recipe: params.yaml.
    """
    try:
        read(recipe)
    except ParamsError as error:
        return str(error)
    return ""


def lacking(recipe: Path, root: Path, stages: Collection[str]) -> list[Check]:
    """What is not there of what some stages will open, so that nobody learns of it hours later.

    Of a recipe that the schema refuses nothing is known; the first stage says why.

    Args:
        recipe: params.yaml.
        root: the project.
        stages: those that will run.
    """
    try:
        params = read(recipe)
    except ParamsError:
        return []
    lacks = [one for one in device_and_files(params, root, hashed=False) if one.state == "lacking"]
    opened = [(one, _OPENED_BY.get(one.name.split(".")[0])) for one in lacks]
    return [one for one, stage in opened if stage is None or stage in stages]


def _device(asked: str) -> Check:
    if asked == "cpu":  # always there; `place` would import torch, also where `radrl repro` starts
        return Check("device", asked)
    try:
        return Check("device", str(place(asked)))
    except DeviceError as error:
        costs = "all stages with a policy or a CheXbert"
        return Check("device", str(error), "lacking", costs, "device: auto or cpu, or a machine that has it")


def _left_out(params: Params) -> Iterator[Check]:
    """What other recipes have and this one does not ask for."""
    if params.labeler.chexbert is None:
        costs = "F1 by the published CheXbert, which the papers report"
        yield Check("labeler.chexbert", "null", "without", costs, _MENDS["labeler"])
    for family in ("radgraph", "green", "radeval", "radmatch"):
        if family not in params.eval.families:
            yield Check(
                f"eval.{family}", "not asked for", "without", f"{family}'s own metrics", _MENDS["eval"]
            )


def _asked(key: str, params: Params) -> bool:
    """Whether a path is of a source or family that the recipe uses."""
    section, own, *rest = key.split(".")
    if section == "ingest" and rest:
        return own in params.ingest.sources
    if section == "eval" and rest:
        return own in params.eval.families
    return True


def _at(section: Any, key: str) -> Any:
    for name in key.split("."):
        section = section[name] if isinstance(section, dict) else getattr(section, name)
    return section


def _told(path: Path, hashed: bool) -> str:
    if path.is_file():
        runs = "runs" if os.access(path, os.X_OK) else size(path.stat().st_size)
        return f"{runs}{_digest(path, hashed)}" if path.suffix in WEIGHTS else runs
    files = [file for file in sorted(path.rglob("*")) if file.suffix in WEIGHTS and file.is_file()]
    if not files:
        return "a folder"
    return "; ".join(f"{file.name} {size(file.stat().st_size)}{_digest(file, hashed)}" for file in files)


def _digest(file: Path, hashed: bool) -> str:
    return f" sha256 {sha256(file)[:16]}" if hashed else ""
