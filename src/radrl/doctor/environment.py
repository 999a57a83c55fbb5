"""This machine: processor, memory, disk, accelerators, packages and programs."""

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

import psutil

from radrl.doctor.findings import Finding, State, size


def machine(root: Path) -> Iterator[Finding]:
    """What the machine has.

    Args:
        root: the project, on whose disk artifacts come to lie.
    """
    yield Finding("Python", f"{platform.python_version()}, {sys.executable}")
    yield Finding("system", platform.platform(terse=True))
    yield Finding("cores", f"{_cores()} for this process")
    memory = psutil.virtual_memory()
    yield Finding("memory", f"{size(memory.available)} free of {size(memory.total)}")
    disk = shutil.disk_usage(root)
    yield Finding("disk", f"{size(disk.free)} free of {size(disk.total)}, where the project lies")
    yield from _accelerators()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _accelerators() -> Iterator[Finding]:
    import torch

    kind = torch.accelerator.current_accelerator(check_available=True)
    if kind is None:
        costs = "policies of billions of weights: they load on a CPU and take months"
        yield Finding("accelerator", f"none that torch {torch.__version__} finds", "without", costs, _BUILD)
        return
    for number in range(torch.accelerator.device_count()):
        where = torch.device(kind.type, number)
        yield Finding(str(where), _named(where))


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


def packages(root: Path) -> Iterator[Finding]:
    """Releases of the packages that matter, beside those that were tested.

    Args:
        root: the project, with constraints.txt.
    """
    tested = _tested(root / "constraints.txt")
    for name in CORE:
        own, wanted = _version(name), tested.get(name)
        if own is None:
            yield Finding(name, "not installed", "lacking", "everything", "make env")
        elif wanted is None or own.split("+")[0] == wanted:
            yield Finding(name, own)
        else:
            costs = "the numbers of the docs: they are another release's"
            yield Finding(name, f"{own}; tested is {wanted}", "without", costs, "make env")
    for name, (package, gives, extra) in EXTRAS.items():
        if (own := _version(package)) is not None:
            yield Finding(name, f"{package} {own}")
        else:
            mend = f"pip install -c constraints.txt -e '.[{extra}]'"
            yield Finding(name, f"{package} is not installed", "without", gives, mend)


def programs() -> Iterator[Finding]:
    """Programs that radrl starts."""
    yield _program(
        "git", ["git", "--version"], "the project itself: DVC, studies and the digests of code", "lacking"
    )
    yield _program("Java", ["java", "-version"], "METEOR (nlg_meteor), which is left out by name", "without")


def _program(name: str, command: list[str], costs: str, state: State) -> Finding:
    if shutil.which(command[0]) is None:
        mend = f"install {name} so that `{command[0]}` is on PATH"
        return Finding(name, "not on PATH", state, costs, mend)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Finding(name, (done.stdout or done.stderr).strip().partition("\n")[0] or "there")


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
