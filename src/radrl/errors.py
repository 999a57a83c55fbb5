"""Errors a user can mend are said in their own words alone; RADRL_TRACEBACK=1 brings the traceback back."""

from __future__ import annotations

import os
import sys
from types import TracebackType

from kedro.io import DatasetError

from radrl.data.quarantine import TooManyQuarantined
from radrl.data.splits import PatientInTwoSplits
from radrl.data.tables import SourceError
from radrl.params import ParamsError

MENDABLE = (ParamsError, SourceError, TooManyQuarantined, PatientInTwoSplits, DatasetError)
"""Their messages name the file, row or key and the mend."""


def say_plainly() -> None:
    """From now on, end on a mendable error with its message alone."""
    if not os.environ.get("RADRL_TRACEBACK"):
        sys.excepthook = _hook


def _hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    found: BaseException | None = error
    while found is not None and (not isinstance(found, MENDABLE) or _wraps(found)):
        found = found.__cause__ or found.__context__
    if found is None:
        sys.__excepthook__(kind, error, trace)
    else:
        print(f"\nerror: {found}", file=sys.stderr)


def _wraps(error: BaseException) -> bool:
    # Kedro puts whatever a dataset raises into a DatasetError; the message that helps is the inner one
    return isinstance(error, DatasetError) and error.__cause__ is not None
