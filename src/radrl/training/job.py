"""A training that any number of processes run, and its file, by which a launcher's processes know it.

    prepare    once, in the stage: what would fail later is refused, and the workspace claimed
    run        in each process

Processes know neither Kedro nor MLflow nor DVC.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, get_type_hints

import pyarrow.dataset as ds

from radrl.data import corpus as corpora
from radrl.process import devices
from radrl.storage.whole_files import whole_file
from radrl.training.preflight import SettingsError
from radrl.training.reinforcement import ArmSettings

if TYPE_CHECKING:
    from transformers import TrainerCallback

    from radrl.policy.folder import Policy
    from radrl.training.callbacks import Report

KINDS: Final = {
    "Arm": "radrl.training.reinforcement.arm",
    "ColdStart": "radrl.training.supervised.cold_start",
}
"""Where each kind of job is; imported by name, for it needs torch."""

JOB: Final = "job.json"
SHARD: Final = "corpus.arrow"


class Job(Protocol):
    """A training."""

    @property
    def workspace(self) -> Path:
        """A folder of this work alone, which outlives a kill."""
        ...

    @property
    def device(self) -> str:
        """Where it trains, as params.yaml's `device`."""
        ...

    def prepare(self, processes: int) -> None:
        """Refuse what would fail once weights are loaded, and claim the workspace.

        Args:
            processes: that will run it.

        Raises:
            radrl.training.preflight.SettingsError: naming the first key that does not fit.
        """
        ...

    def run(
        self, report: Report, observers: Sequence[TrainerCallback] = ()
    ) -> tuple[Policy, list[dict[str, float]]]:
        """Train, alone or as one of several processes that a launcher started.

        Args:
            report: told each step's numbers, by the first process alone.
            observers: told what the trainer tells its callbacks.

        Returns:
            The trained policy and its curve.
        """
        ...


def write(job: Job, folder: Path, processes: int) -> Path:
    """Write a job for the processes that run it.

    Args:
        job: prepared.
        folder: an existing folder, which these processes see too.
        processes: how many there will be.

    Returns:
        The job's file.
    """
    values = {field.name: _plain(getattr(job, field.name), folder) for field in fields(job)}  # type: ignore[arg-type]
    with whole_file(folder / JOB) as stream:
        told = {"kind": type(job).__name__, "processes": processes, "values": values}
        stream.write(json.dumps(told, indent=2).encode())
    return folder / JOB


def read(file: Path) -> Job:
    """Read a job that `write` wrote, as one of the processes that run it.

    Raises:
        ValueError: when it is none.
        SettingsError: when this process is not one of as many as were to be.
    """
    told: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    if told.get("kind") not in KINDS:
        raise ValueError(f"{file} holds no job; kinds: {', '.join(KINDS)}")
    if devices.processes() != told["processes"]:
        raise SettingsError(
            f"compute.processes is {told['processes']}, and this process was started as one of "
            f"{devices.processes()}: compute.command has to tell each its RANK and WORLD_SIZE, as torchrun "
            "({python} -m torch.distributed.run --nproc-per-node {processes} -m {worker} {job}) does and "
            "srun alone does not"
        )
    kind = getattr(import_module(KINDS[told["kind"]]), told["kind"])
    types = get_type_hints(kind)
    job: Job = kind(**{name: _READ.get(types[name], _same)(value) for name, value in told["values"].items()})
    return job


def _plain(value: Any, folder: Path) -> Any:
    """A value as JSON holds it; of the corpus its files."""
    if isinstance(value, Path):
        return str(value.resolve())
    if isinstance(value, ds.FileSystemDataset):
        return value.files
    if isinstance(value, ds.Dataset):  # it lies in memory
        corpora.write(value.to_table(), folder / SHARD)
        return [str((folder / SHARD).resolve())]
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return value


def _same(value: Any) -> Any:
    return value


_READ: Final[dict[Any, Callable[[Any], Any]]] = {
    Path: Path,
    ds.Dataset: lambda files: corpora.opened([Path(file) for file in files]),
    ArmSettings: lambda values: ArmSettings(**values),
}
"""What `_plain` has turned into something else, by the type of its field."""
