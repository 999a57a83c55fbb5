"""What a run says: errors a user can mend in their own words alone, and nothing twice or to nobody.

RADRL_TRACEBACK=1 brings tracebacks back.
"""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Sequence
from types import TracebackType
from typing import Final

from kedro.config import MissingConfigException
from kedro.io import DatasetError

from kedro_repro.cpu_seconds import NoSeconds
from kedro_repro.params_values import NoParams
from kedro_repro.project import ProjectError
from kedro_repro.stage_start import ChangedMeanwhile
from kedro_repro.tracking.server import RecordError
from radrl.data.pretraining_seed import SeenFilms
from radrl.data.quarantine import PatientInTwoSplits, TooManyQuarantined
from radrl.data.tables import SourceError
from radrl.labelers import LabelerError
from radrl.params.messages import ParamsError
from radrl.parts.find import PartError
from radrl.process.devices import DeviceError
from radrl.rewards.base import RewardError
from radrl.scoring import ScoringError
from radrl.storage import refused
from radrl.storage.complete_weights import WeightsError
from radrl.storage.json_files import NoJson
from radrl.storage.pointers import PointerError
from radrl.storage.table_files import NoTable
from radrl.storage.yaml_files import NoYaml
from radrl.training.preflight import SettingsError

MENDABLE = (
    ParamsError,
    SourceError,
    TooManyQuarantined,
    PatientInTwoSplits,
    LabelerError,
    PartError,
    PointerError,
    WeightsError,
    RewardError,
    ScoringError,
    SettingsError,
    ChangedMeanwhile,
    ProjectError,
    NoParams,
    NoSeconds,
    RecordError,
    DeviceError,
    NoYaml,
    NoJson,
    NoTable,
    SeenFilms,
    MissingConfigException,
    DatasetError,
)
"""Their messages name the file, row or key and the mend."""


def say_plainly() -> None:
    """From now on, end on a mendable error with its message alone."""
    if not os.environ.get("RADRL_TRACEBACK"):
        sys.excepthook = _hook


def plain_words(error: BaseException) -> str:
    """What to say of an error without a traceback; nothing of one that nobody foresaw.

    Args:
        error: with what it was raised from.
    """
    chain = _chain(error)
    mendable = [link for link in chain if isinstance(link, MENDABLE)]
    # Kedro puts whatever a dataset raises into a DatasetError; the innermost message is the one that helps
    if (not mendable or isinstance(mendable[-1], DatasetError)) and (said := _of_disk(chain)):
        return said
    if not mendable:
        return ""
    cause = mendable[-1].__cause__
    hint = f" ({cause}){_mend(mendable[-1])}" if isinstance(mendable[-1], DatasetError) and cause else ""
    return f"{mendable[-1]}{hint}"


def _mend(error: BaseException) -> str:
    """What mends an artifact that one of Kedro's own datasets could not read."""
    if not str(error).startswith("Failed while loading"):
        return ""
    return "; run the stage that writes it again (`dvc dag` shows which), or `dvc checkout` it"


def _hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if said := plain_words(error):
        print(f"\nerror: {said}", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


def _of_disk(chain: Sequence[BaseException]) -> str:
    """What the disk refused, with the mend; nothing where it did not."""
    for link in reversed(chain):
        if mend := refused.mend(link):
            return f"{link}; {mend}, then start again: finished stages are kept"
    return ""


def _chain(error: BaseException) -> list[BaseException]:
    links: list[BaseException] = []
    link: BaseException | None = error
    while link is not None:
        links.append(link)
        # our own `from None` means it: the message was put together anew; OmegaConf's hides what it wraps
        ours = isinstance(link, MENDABLE) and link.__suppress_context__
        link = link.__cause__ or (None if ours else link.__context__)
    return links


RUNNER: Final = "kedro.runner.sequential_runner"
NODE: Final = "kedro.pipeline.node"


def quieten() -> None:
    """From now on, in this process: a line a node, a mendable error once, no word of what TRL will rename."""
    logging.getLogger(RUNNER).addFilter(_LineANode())
    if not os.environ.get("RADRL_TRACEBACK"):
        for name in (RUNNER, NODE):
            logging.getLogger(name).addFilter(_said_at_the_end)
    # it is TRL and PEFT that ask under the old name, a dozen times a training
    old = r"`(is_)?gradient_checkpointing` is deprecated"
    warnings.filterwarnings("ignore", message=old, category=FutureWarning)


class _LineANode(logging.Filter):
    """Joins the two lines that Kedro's runner writes of each node."""

    def __init__(self) -> None:
        super().__init__()
        self._node = ""

    def filter(self, record: logging.LogRecord) -> bool:
        said = record.getMessage()
        if said.startswith("Completed node: "):
            self._node = said.partition(": ")[2]
            return False
        if said.startswith("Completed "):
            record.msg, record.args = f"{said}: {self._node}", ()
        return not said.startswith("Using synchronous mode")


def _said_at_the_end(record: logging.LogRecord) -> bool:
    """Whether a line is news: not the error that `radrl.errors` says last, nor that nothing ran."""
    if not record.getMessage().startswith(("Node ", "No nodes ran")):
        return True

    error = sys.exception()
    return error is None or not plain_words(error)
