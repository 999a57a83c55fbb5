"""Where runs are recorded and artifacts kept: MLflow's store, DVC's cache and remote."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import httpx2

from radrl.doctor.findings import Finding, size
from radrl.storage import yaml_files

_SECONDS: Final = 5.0
"""That an MLflow server is waited for."""


def record(root: Path) -> Iterator[Finding]:
    """The tracking store, the remote and the cache.

    Args:
        root: the project.
    """
    yield tracking(_uri(root), root)
    yield _remote(root)
    yield _cache(root)


def _cache(root: Path) -> Finding:
    done = _dvc(root, "cache", "dir")
    if done.returncode:
        return Finding("DVC cache", _last(done), "lacking", "every artifact", "mend .dvc/config")
    cache = root / done.stdout.strip()
    held = sum(file.stat().st_size for file in cache.rglob("*") if file.is_file())
    return Finding("DVC cache", f"{size(held)} in {cache}; `dvc gc --workspace` drops what no lock names")


def _dvc(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dvc", *arguments], cwd=root, capture_output=True, text=True, check=False
    )


def _last(done: subprocess.CompletedProcess[str]) -> str:
    """What a failed program said last."""
    return (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]


def _uri(root: Path) -> str:
    conf: dict[str, str] = {}
    for layer in ("base", "local"):
        file = root / "conf" / layer / "mlflow.yml"
        if file.is_file():
            conf |= yaml_files.read(file) or {}
    return os.environ.get("MLFLOW_TRACKING_URI", conf.get("tracking_uri", ""))


def tracking(uri: str, root: Path) -> Finding:
    """Whether runs can be recorded.

    Args:
        uri: of MLflow, or `off`.
        root: the project, from which the path of an SQLite file is read.
    """
    name, mend = "MLflow", "docs/tracking-server.md, or MLFLOW_TRACKING_URI=off for no record"
    if uri in ("", "off"):
        return Finding(name, "off", "without", "the record of runs", "unset MLFLOW_TRACKING_URI")
    if uri.startswith(("http://", "https://")):
        said = _answers(uri)
        if said is None:
            return Finding(name, f"{_shown(uri)} answers")
        return Finding(
            name, f"{_shown(uri)}: {said}", "lacking", "every stage: a run ends before it trains", mend
        )
    if uri.startswith("sqlite:///"):
        file = root / uri.removeprefix("sqlite:///")
        there = size(file.stat().st_size) if file.is_file() else "made by the first run"
        return Finding(name, f"{uri}, {there}")
    return Finding(name, _shown(uri))


def _answers(uri: str) -> str | None:
    """What is wrong with a server; nothing where it answers."""
    try:
        response = httpx2.get(f"{uri.rstrip('/')}/health", timeout=_SECONDS, follow_redirects=False)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        return f"{type(error).__name__} {error}".strip()
    return None if response.is_success else f"HTTP {response.status_code}"


def _shown(uri: str) -> str:
    """Without the user and password that may stand in it."""
    scheme, mark, rest = uri.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}"


def _remote(root: Path) -> Finding:
    done = _dvc(root, "remote", "list")
    mend = "dvc remote add --default NAME PATH_OR_URL (docs/remotes.md)"
    if done.returncode:
        return Finding("DVC remote", _last(done), "lacking", "sharing artifacts, and DVC itself", mend)
    remotes = [" ".join(map(_shown, line.split())) for line in done.stdout.splitlines() if line.strip()]
    if not remotes:
        return Finding(
            "DVC remote", "none", "without", "sharing artifacts: they lie on this disk alone", mend
        )
    return Finding("DVC remote", "; ".join(remotes))
