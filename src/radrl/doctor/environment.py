"""This machine: processor, memory, accelerators, packages, programs, and where runs and files are kept."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import httpx2
import psutil

from radrl.doctor import Check, State, size
from radrl.storage import yaml_files


def machine(root: Path) -> Iterator[Check]:
    """What the machine has.

    Args:
        root: the project, on whose disk artifacts come to lie.
    """
    yield Check("Python", f"{platform.python_version()}, {sys.executable}")
    yield Check("system", platform.platform(terse=True))
    yield Check("cores", f"{_cores()} for this process")
    memory = psutil.virtual_memory()
    yield Check("memory", f"{size(memory.available)} free of {size(memory.total)}")
    disk = shutil.disk_usage(root)
    yield Check("disk", f"{size(disk.free)} free of {size(disk.total)}, where the project lies")
    yield from _accelerators()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _accelerators() -> Iterator[Check]:
    import torch

    kind = torch.accelerator.current_accelerator(check_available=True)
    if kind is None:
        costs = "policies of billions of weights: they load on a CPU and take months"
        yield Check("accelerator", f"none that torch {torch.__version__} finds", "without", costs, _BUILD)
        return
    for number in range(torch.accelerator.device_count()):
        where = torch.device(kind.type, number)
        yield Check(str(where), _named(where))


_BUILD = "where this machine has a card: `make env TORCH_INDEX=URL` takes the build of torch for it"


def _named(device: object) -> str:
    import torch

    if getattr(device, "type", None) != "cuda":
        return "there"
    own = torch.cuda.get_device_properties(device)  # type: ignore[arg-type]
    return f"{own.name}, {size(own.total_memory)}, compute capability {own.major}.{own.minor}"


CORE: Final = (
    "torch",
    "transformers",
    "trl",
    "peft",
    "accelerate",
    "kedro",
    "dvc",
    "mlflow",
    "pandas",
    "pyarrow",
)
"""On whose releases results and the record's form depend."""

EXTRAS: Final = {
    "gdcm": ("python-gdcm", "DICOM films in JPEG Lossless or JPEG-LS", "dicom-codecs"),
    "8-bit AdamW": ("bitsandbytes", "optimizer: adamw_8bit", "adamw-8bit"),
    "S3": ("dvc-s3", "DVC remotes on S3", "s3"),
    "Kedro-Viz": ("kedro-viz", "`make viz`", "viz"),
}
"""By name: the package, what it gives, and the extra that brings it."""


def packages(root: Path) -> Iterator[Check]:
    """Releases of the packages that matter, beside those that were tested.

    Args:
        root: the project, with constraints.txt.
    """
    tested = _tested(root / "constraints.txt")
    for name in CORE:
        own, wanted = _version(name), tested.get(name)
        if own is None:
            yield Check(name, "not installed", "lacking", "everything", "make env")
        elif wanted is None or own.split("+")[0] == wanted:
            yield Check(name, own)
        else:
            costs = "the numbers of the docs: they are another release's"
            yield Check(name, f"{own}; tested is {wanted}", "without", costs, "make env")
    for name, (package, gives, extra) in EXTRAS.items():
        if (own := _version(package)) is not None:
            yield Check(name, f"{package} {own}")
        else:
            mend = f"pip install -c constraints.txt -e '.[{extra}]'"
            yield Check(name, f"{package} is not installed", "without", gives, mend)


def programs() -> Iterator[Check]:
    """Programs that radrl starts."""
    yield _program(
        "git", ["git", "--version"], "the project itself: DVC, studies and the digests of code", "lacking"
    )
    yield _program("Java", ["java", "-version"], "METEOR (nlg_meteor), which is left out by name", "without")


def _program(name: str, command: list[str], costs: str, state: State) -> Check:
    if shutil.which(command[0]) is None:
        mend = f"install {name} so that `{command[0]}` is on PATH"
        return Check(name, "not on PATH", state, costs, mend)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Check(name, (done.stdout or done.stderr).strip().partition("\n")[0] or "there")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _tested(constraints: Path) -> dict[str, str]:
    """The one release of each package in constraints.txt; of one with several, by platform, none."""
    if not constraints.is_file():
        return {}
    lines = re.findall(
        r"^([A-Za-z0-9._-]+)==([^\s;]+)(.*)$", constraints.read_text(encoding="utf-8"), re.MULTILINE
    )
    return {name.lower(): release for name, release, marker in lines if not marker.strip()}


_SECONDS: Final = 5.0
"""That an MLflow server is waited for."""


def record(root: Path) -> Iterator[Check]:
    """The tracking store, the remote and the cache.

    Args:
        root: the project.
    """
    yield tracking(_uri(root), root)
    yield _remote(root)
    yield _cache(root)


def _cache(root: Path) -> Check:
    done = _dvc(root, "cache", "dir")
    if done.returncode:
        return Check("DVC cache", _last(done), "lacking", "every artifact", "mend .dvc/config")
    cache = root / done.stdout.strip()
    held = sum(file.stat().st_size for file in cache.rglob("*") if file.is_file())
    return Check("DVC cache", f"{size(held)} in {cache}; `dvc gc --workspace` drops what no lock names")


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


def tracking(uri: str, root: Path) -> Check:
    """Whether runs can be recorded.

    Args:
        uri: of MLflow, or `off`.
        root: the project, from which the path of an SQLite file is read.
    """
    name, mend = "MLflow", "docs/tracking-server.md, or MLFLOW_TRACKING_URI=off for no record"
    if uri in ("", "off"):
        return Check(name, "off", "without", "the record of runs", "unset MLFLOW_TRACKING_URI")
    if uri.startswith(("http://", "https://")):
        said = _answers(uri)
        if said is None:
            return Check(name, f"{_shown(uri)} answers")
        return Check(
            name, f"{_shown(uri)}: {said}", "lacking", "every stage: a run ends before it trains", mend
        )
    if uri.startswith("sqlite:///"):
        file = root / uri.removeprefix("sqlite:///")
        there = size(file.stat().st_size) if file.is_file() else "made by the first run"
        return Check(name, f"{uri}, {there}")
    return Check(name, _shown(uri))


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


def _remote(root: Path) -> Check:
    done = _dvc(root, "remote", "list")
    mend = "dvc remote add --default NAME PATH_OR_URL (docs/remotes.md)"
    if done.returncode:
        return Check("DVC remote", _last(done), "lacking", "sharing artifacts, and DVC itself", mend)
    remotes = [" ".join(map(_shown, line.split())) for line in done.stdout.splitlines() if line.strip()]
    if not remotes:
        return Check("DVC remote", "none", "without", "sharing artifacts: they lie on this disk alone", mend)
    return Check("DVC remote", "; ".join(remotes))
