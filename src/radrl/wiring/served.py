"""A trained policy as MLflow loads and serves it: films in, reports and labels out.

MLflow finds this module by its name in the model's MLmodel file and hands it the model's data: the policy's
folder and how it is asked. Nothing in the model is code, and no pickle is read.
"""

from __future__ import annotations

import base64
import json
import tempfile
import threading
from pathlib import Path
from typing import Any, Final

import pandas as pd

from radrl.labelers import build as build_labeler
from radrl.observations import BLANK, NEGATIVE, OBSERVATIONS, POSITIVE, UNCERTAIN
from radrl.process import offline
from radrl.reporting import Asked, FilmError, Reporter, shown

IMAGE: Final = "image"
"""The column of requests: a PNG, JPEG or DICOM file in base64."""

MOST_BYTES: Final = 128 << 20
"""Of a film's file; the largest detectors give 40 MB uncompressed."""

MOST_ROWS: Final = 64
"""Films a request."""

WORDS: Final = {POSITIVE: "positive", NEGATIVE: "negative", UNCERTAIN: "uncertain", BLANK: ""}

POLICY: Final = "policy"
ASKED: Final = "asked.json"
LABELER: Final = "labeler.json"


class Served:
    """What MLflow calls `predict` of.

    Args:
        data: the model's folder, with `POLICY`, `ASKED` and `LABELER`.
    """

    def __init__(self, data: Path) -> None:
        self._asked = Asked(**json.loads((data / ASKED).read_text(encoding="utf-8")))
        self._labeler = build_labeler(json.loads((data / LABELER).read_text(encoding="utf-8")), name="rules")
        self._one = threading.Lock()
        self._reporter = Reporter.open(data / POLICY, self._asked)

    def predict(self, model_input: pd.DataFrame, params: dict[str, Any] | None = None) -> pd.DataFrame:
        """Write on films.

        Args:
            model_input: column `image`, a film a row.
            params: none are taken.

        Returns:
            report, and the 14 observations in words, empty where not mentioned; a row a film.

        Raises:
            mlflow.exceptions.MlflowException: BAD_REQUEST, a client's 400, naming the row and what is wrong.
        """
        try:
            films = [[film] for film in self._films(model_input)]
        except FilmError as error:
            raise _refused(str(error)) from None
        with self._one:  # MLflow's server of models calls from several threads
            reports = [report.text for part in self._parts(films) for report in self._reporter.write(part)]
        labels = self._labeler.label(reports)
        words = {name: [WORDS[said] for said in labels[:, at]] for at, name in enumerate(OBSERVATIONS)}
        return pd.DataFrame({"report": reports} | words)

    def _parts(self, films: list[list[bytes]]) -> list[list[list[bytes]]]:
        size = self._asked.batch_size
        return [films[start : start + size] for start in range(0, len(films), size)]

    def _films(self, given: pd.DataFrame) -> list[bytes]:
        if not len(given):
            raise FilmError("no film in the request: a row a film")
        if len(given) > MOST_ROWS:
            raise FilmError(f"{len(given)} films in one request; at most {MOST_ROWS}: send several requests")
        return [self._film(f"row {row}", value) for row, value in enumerate(given[IMAGE].tolist(), start=1)]

    def _film(self, name: str, value: Any) -> bytes:
        with tempfile.NamedTemporaryFile(prefix="radrl-served-") as file:
            file.write(_decoded(name, value))
            file.flush()
            return shown(Path(file.name), self._asked, name=name)


def _decoded(name: str, value: Any) -> bytes:
    if not isinstance(value, str):
        raise FilmError(f"{name}: {IMAGE!r} is {type(value).__name__}; send the file in base64, as text")
    if len(value) > MOST_BYTES * 4 // 3:
        raise FilmError(f"{name}: the film's file has more than {MOST_BYTES >> 20} MiB")
    try:
        return base64.b64decode(value, validate=True)
    except ValueError as error:  # binascii's own error, or of letters beyond ASCII
        raise FilmError(f"{name}: {IMAGE!r} is no base64 ({error}); send the file in base64") from None


def _refused(message: str) -> Exception:
    from mlflow.exceptions import MlflowException
    from mlflow.protos.databricks_pb2 import BAD_REQUEST

    return MlflowException(message, error_code=BAD_REQUEST)


def _load_pyfunc(data: str) -> Served:
    """MLflow's entry; the hubs of what it imports are off before it imports it.

    Args:
        data: the model's folder.
    """
    offline.apply()
    return Served(Path(data))
