"""An MLflow server as the place of the record: how long it is waited for, and what is said when it fails."""

from __future__ import annotations

import logging
import os
import re
from typing import Final
from urllib.parse import urlsplit

DEFAULTS: Final = {
    # MLflow's own, seven times two minutes, would hold up a training step for as long
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    # the address of each run, printed at its end with whatever password stands in it
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
"""MLflow's settings where the user has none."""

MEND: Final = (
    "Start it (docs/tracking-server.md), name another in MLFLOW_TRACKING_URI or conf/local/mlflow.yml, or "
    "run without a record: MLFLOW_TRACKING_URI=off"
)


class RecordError(RuntimeError):
    """The MLflow server does not take the record; the message names it, what it said and the mend."""


def is_server(uri: str) -> bool:
    """Whether a tracking URI is that of a server, which places artifacts itself.

    Example:
        >>> is_server("http://127.0.0.1:5000"), is_server("sqlite:///mlflow.db")
        (True, False)
    """
    return urlsplit(uri).scheme in {"http", "https"}


def on_this_machine(location: str) -> bool:
    """Whether an artifact location means a folder of whoever writes, and so a different one on every machine.

    Example:
        >>> on_this_machine("file:///home/a/mlartifacts"), on_this_machine("mlflow-artifacts:/1")
        (True, False)
    """
    return urlsplit(location).scheme in {"", "file"}


def prepare() -> None:
    """Shorten MLflow's waiting for a server, and keep addresses and each vain attempt off the terminal."""
    logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)  # the error at the end says it once
    for name, value in DEFAULTS.items():
        os.environ.setdefault(name, value)


def shown(uri: str) -> str:
    """A URI as it may be printed.

    Example:
        >>> shown("https://reader:secret@mlflow.example:5000")
        'https://mlflow.example:5000'
    """
    return re.sub(r"//[^/@]*@", "//", uri)


def error_line(uri: str, error: Exception) -> str:
    """What went wrong in one line, without the server's credentials.

    Args:
        uri: of the server.
        error: MLflow's, which may hold the whole URI and several lines.
    """
    text = " ".join(str(error).replace(uri, shown(uri)).split())
    cause = re.search(r"\(Caused by \w+\((.*)\)\)", text)  # what the layers above it wrap says no more
    said = cause[1] if cause else text
    return f"the MLflow server at {shown(uri)} does not take the record: {said[:400]}"
