"""A run above the runs of one study, of one `radrl repro` or of one `kedro run`: MLflow folds them under it.

Its state is that of the runs below it. It is open while one of them is; who closes the last one closes it.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mlflow import MlflowClient

STAGE: Final = "study"
"""The tag `stage` of such a run, and the tag that has its name, here and in the runs below."""

HOST: Final = "study.host"
"""The tag with the machine that opened it."""

PARENT: Final = "mlflow.parentRunId"


def opened(client: MlflowClient, experiment: str, name: str, tags: Mapping[str, str]) -> str:
    """The run of this name, made where there is none, and open.

    Call it and open a run below it while nobody else does either.

    Args:
        client: of the record.
        experiment: its id.
        name: of the study.
        tags: further ones, for a run that is made.

    Returns:
        Its id.
    """
    where = f"tags.stage = '{STAGE}' AND tags.{STAGE} = \"{name}\""
    for run in client.search_runs([experiment], where, max_results=1):
        client.update_run(run.info.run_id, status="RUNNING")
        return str(run.info.run_id)
    own = {"mlflow.runName": name, "stage": STAGE, STAGE: name, HOST: socket.gethostname()}
    return str(client.create_run(experiment, tags={**tags, **own}).info.run_id)


def settle(client: MlflowClient, experiment: str, parent: str, status: str) -> None:
    """Close a run after one below it was closed, where that was the last, or did not end well.

    Args:
        client: of the record.
        experiment: its id.
        parent: id of the run.
        status: how the one below it ended.
    """
    ended_well = status == "FINISHED"
    if ended_well and _open_below(client, experiment, parent):
        return
    if not ended_well or client.get_run(parent).info.status == "RUNNING":
        client.set_terminated(parent, status)


def close_abandoned(client: MlflowClient, experiment: str) -> None:
    """Mark those of this machine as killed that are open without a run below that is.

    Args:
        client: of the record.
        experiment: its id.
    """
    here = f"tags.stage = '{STAGE}' AND tags.`{HOST}` = '{socket.gethostname()}'"
    for run in client.search_runs([experiment], f"attributes.status = 'RUNNING' AND {here}"):
        if not _open_below(client, experiment, run.info.run_id):
            client.set_terminated(run.info.run_id, "KILLED")


def _open_below(client: MlflowClient, experiment: str, parent: str) -> bool:
    where = f"attributes.status = 'RUNNING' AND tags.`{PARENT}` = '{parent}'"
    return bool(client.search_runs([experiment], where, max_results=1))
