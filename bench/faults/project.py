"""The project that faults happen to: a clone with few films, one arm and small networks, and its dvc.lock."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from kedro_repro.dvc_repair import LOCK
from kedro_repro.programs import environment
from radrl.process import importing

ROOT: Final = Path(__file__).resolve().parents[2]


def merge(params: dict[str, Any], other: Mapping[str, Any]) -> None:
    """Put the values of `other` in their places in `params`."""
    for key, value in other.items():
        if isinstance(value, Mapping) and isinstance(params.get(key), dict):
            merge(params[key], value)
        else:
            params[key] = value


def settings(root: Path) -> dict[str, Any]:
    """The parameters of the smoke run with one arm, a checkpoint a step, and a selection of one's own."""
    params: dict[str, Any] = yaml.safe_load((root / "params.yaml").read_text())
    merge(params, yaml.safe_load((root / "conf/smoke/parameters.yml").read_text()))
    params["arms"] = {"deer": params["arms"]["deer"] | {"training": {"steps": 6, "watch": None}}}
    params["selection"]["own"] = {"few": {"part": "radrl.selections.random:random", "share": 0.5}}
    params["sft"]["checkpoint_every"] = params["policy"]["pretrain"]["checkpoint_every"] = 1
    params["compare"]["reference"] = "deer"
    return params


def clone(target: Path, revision: str = "HEAD") -> Path:
    """A commit in a folder of its own, with these parameters, and nothing that has run."""
    named = subprocess.run(
        ["git", "rev-parse", revision], cwd=ROOT, check=True, capture_output=True, text=True
    )
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(target)], check=True)
    subprocess.run(["git", "checkout", "--quiet", named.stdout.strip()], cwd=target, check=True)
    (target / "params.yaml").write_text(yaml.safe_dump(settings(target), sort_keys=False))
    (target / LOCK).unlink(missing_ok=True)
    return target


def variables(folder: Path, **more: str) -> dict[str, str]:
    """Variables of a start whose temporary folder and DVC's notes are its own."""
    temporary = folder.with_name("tmp")
    temporary.mkdir(exist_ok=True)
    own = {"TMPDIR": str(temporary), "DVC_SITE_CACHE_DIR": str(folder.with_name("site"))}
    return environment(PYTHONPATH=importing.first(folder / "src", os.environ), **own | more)


def stored(cache: Path, md5: str) -> Path:
    """Where DVC's cache has an object."""
    return cache / "files" / "md5" / md5[:2] / md5[2:]


def records(lock: Path) -> dict[str, Any]:
    """dvc.lock by stage."""
    stages: dict[str, Any] = yaml.safe_load(lock.read_text())["stages"]
    return stages


def digests(folder: Path, stages: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Every file that dvc.lock knows, with its digest."""
    for out in (out for entry in stages.values() for out in entry.get("outs", [])):
        if out["md5"].endswith(".dir"):
            listed = json.loads(stored(folder / ".dvc" / "cache", out["md5"]).read_text())
            yield from ((folder / out["path"] / entry["relpath"], entry["md5"]) for entry in listed)
        else:
            yield folder / out["path"], out["md5"]
