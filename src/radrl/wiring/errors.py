"""Errors a user can mend are said in their own words alone; RADRL_TRACEBACK=1 brings the traceback back."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from types import TracebackType

from kedro.config import MissingConfigException
from kedro.io import DatasetError

from radrl.data.pretraining_seed import SeenFilms
from radrl.data.quarantine import TooManyQuarantined
from radrl.data.splits import PatientInTwoSplits
from radrl.data.tables import SourceError
from radrl.labelers.base import LabelerError
from radrl.params.base import ParamsError
from radrl.parts.find import PartError
from radrl.process.devices import DeviceError
from radrl.provenance.started import ChangedMeanwhile
from radrl.rewards.base import RewardError
from radrl.scoring.base import ScoringError
from radrl.storage import refused
from radrl.storage.complete_weights import WeightsError
from radrl.storage.csv_files import NoTable
from radrl.storage.json_files import NoJson
from radrl.storage.parquet_files import NoParquet
from radrl.storage.pointers import PointerError
from radrl.storage.yaml_files import NoYaml
from radrl.training.preflight import SettingsError
from radrl.wiring.tracking_server import RecordError

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
    RecordError,
    DeviceError,
    NoYaml,
    NoJson,
    NoParquet,
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
