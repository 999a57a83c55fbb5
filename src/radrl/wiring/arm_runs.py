"""Pictures and cards of arms, made where all arms are compared, in the runs of the arms as well."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

FOLDER: Final = "comparison"
"""Where they lie among a run's files."""


def keep(client: MlflowClient, experiment: str, read: Mapping[str, str], kind: str, path: Path) -> None:
    """Copy a file into the runs whose outputs it was made of; an arm whose run is not in the record has none.

    Args:
        client: of the record.
        experiment: its id.
        read: digest by name in the catalog, of what it was made of.
        kind: those of `read` that count, by what follows the arm in their names.
        path: the file, or a folder with one an arm, called after it.
    """
    for name, digest in read.items():
        arm, _, own = name.rpartition(".")
        if arm and own == kind and (run := wrote(client, experiment, arm, digest)):
            for file in sorted(path.glob(f"{arm}.*")) if path.is_dir() else [path]:
                client.log_artifact(run.info.run_id, str(file), FOLDER)


def wrote(client: MlflowClient, experiment: str, arm: str, digest: str) -> Run | None:
    """The newest run of an arm that wrote this: others of its name may be of other settings or films.

    Args:
        client: of the record.
        experiment: its id.
        arm: its name.
        digest: of an output.
    """
    where = f"tags.arm = '{arm}' AND dataset.digest = '{digest}' AND dataset.context = 'written'"
    newest = ["attributes.start_time DESC"]
    found = client.search_runs([experiment], where, order_by=newest)
    return next((run for run in found if _written(run, digest)), None)


def _written(run: Run, digest: str) -> bool:
    """Whether it is this that was written: MLflow takes digest and context of any two of a run's inputs."""
    return any(
        entry.dataset.digest == digest and any(tag.value == "written" for tag in entry.tags)
        for entry in run.inputs.dataset_inputs
    )
