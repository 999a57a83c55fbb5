"""A trained policy as MLflow loads it, films in, reports and labels out, and the server that asks it.

MLflow finds this module by its name in the model's MLmodel file and hands it the model's data: the policy's
folder and how it is asked. Nothing in the model is code, and no pickle is read.

`mlflow models serve` takes requests of any size, works on several at once, and answers what it cannot read
with a stack trace or a 500. The server here takes JSON alone, writes on one request after another, and says
what was wrong. `uvicorn --factory radrl.wiring.served:create_app` starts it; `radrl serve` does.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
import logging
import os
import tempfile
import threading
from collections.abc import MutableMapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from radrl.labelers import build as build_labeler
from radrl.observations import BLANK, NEGATIVE, OBSERVATIONS, POSITIVE, UNCERTAIN
from radrl.process import importing
from radrl.process.http_door import App, Guarded, Receive, Refused, Send
from radrl.reporting import Asked, FilmError, Reporter, film_as_seen
from radrl.reports.prompts import PLACES, require_places
from radrl.storage.json_files import NoJson, parsed

if TYPE_CHECKING:
    from mlflow.pyfunc import PyFuncModel


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
            model_input: column `image`, a film a row, and columns named as the prompt's places, if any.
            params: none are taken.

        Returns:
            report, and the 14 observations in words, empty where not mentioned; a row a film.

        Raises:
            mlflow.exceptions.MlflowException: BAD_REQUEST, a client's 400, naming the row and what is wrong.
        """
        try:
            films = [[film] for film in self._films(model_input)]
            known = self._known(model_input)
        except ValueError as error:  # a FilmError too
            raise _refused(str(error)) from None
        with self._one:  # MLflow's server of models calls from several threads
            reports = [
                report.text
                for part in self._parts(len(films))
                for report in self._reporter.write(films[part], known=known[part])
            ]
        labels = self._labeler.label(reports)
        words = {name: [WORDS[said] for said in labels[:, at]] for at, name in enumerate(OBSERVATIONS)}
        return pd.DataFrame({"report": reports} | words)

    def _parts(self, films: int) -> list[slice]:
        size = self._asked.batch_size
        return [slice(start, start + size) for start in range(0, films, size)]

    def _known(self, given: pd.DataFrame) -> list[dict[str, str | None]]:
        """What each row tells of its study besides the film; null where it does not."""
        names = [name for name in PLACES if name in given.columns]
        require_places(self._asked.prompt, names)
        return [
            {name: _told(f"row {number}: {name!r}", value) for name, value in zip(names, row, strict=True)}
            for number, row in enumerate(given[names].itertuples(index=False), start=1)
        ]

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
            return film_as_seen(Path(file.name), self._asked, name=name)


def _told(name: str, value: Any) -> str | None:
    if value is None or value != value:  # null, as pandas has it
        return None
    if not isinstance(value, str):
        raise FilmError(f"{name} is {type(value).__name__}; send it as text")
    return value


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
    importing.go_offline()
    return Served(Path(data))


_LOG = logging.getLogger(__name__)

MODEL: Final = "RADRL_SERVED_MODEL"
"""The variable with the model's address, for `create_app`."""

MOST_WAITING: Final = 64
"""Requests that wait for those before them."""

_MOST: Final = MOST_BYTES * 4 // 3 + (1 << 20)
"""Bytes of a request: one film as large as any in base64, or many of the usual size."""

_FORMS: Final = ("dataframe_split", "dataframe_records", "instances", "inputs")


def create_app() -> App:
    """The server of the model that `MODEL` names."""
    from mlflow import pyfunc

    return guarded(pyfunc.load_model(os.environ[MODEL]))


def guarded(model: PyFuncModel) -> App:
    """The server of a model behind its door.

    Args:
        model: as MLflow loads it.
    """
    return Guarded(Server(model), most_bytes=_MOST, most_held=2 * _MOST)


class Server:
    """Answers `/invocations` as MLflow's server does, and `/ping`, `/health` and `/version`.

    Args:
        model: as MLflow loads it.
    """

    def __init__(self, model: PyFuncModel) -> None:
        self._model, self._schema = model, model.metadata.get_input_schema()
        self._one = ThreadPoolExecutor(1)  # torch has its threads, and memory is that of one request
        self._waiting = 0

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """ASGI; a request's body comes whole from `radrl.process.http_door`."""
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        if scope["type"] != "http":
            raise ValueError(f"{scope['type']} is not served here")
        said = await self._said(scope, receive)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(said)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": said})

    async def _said(self, scope: MutableMapping[str, Any], receive: Receive) -> bytes:
        import mlflow

        path, method = scope["path"], scope["method"]
        if path in ("/ping", "/health", "/version"):
            return mlflow.__version__.encode() if path == "/version" else b"\n"
        if path != "/invocations":
            raise Refused(404, "nothing is here; requests go to /invocations, by POST")
        if method != "POST":
            raise Refused(405, f"{method} is not taken here; requests go to /invocations by POST")
        kind, _, more = dict(scope["headers"]).get(b"content-type", b"").lower().partition(b";")
        if kind.strip() != b"application/json" or (b"charset" in more and b"utf-8" not in more):
            raise Refused(415, "the request is taken as JSON in UTF-8: Content-Type: application/json")
        if self._waiting >= MOST_WAITING:
            raise Refused(429, "too many requests wait; send it again in a few seconds")
        self._waiting += 1
        try:
            body = (await receive())["body"]
            return await asyncio.get_running_loop().run_in_executor(self._one, self._written, body)
        finally:
            self._waiting -= 1

    def _written(self, body: bytes) -> bytes:
        """The reports, as MLflow writes predictions."""
        from mlflow.exceptions import MlflowException
        from mlflow.pyfunc import scoring_server

        table = self._table(body)
        try:
            found = self._model.predict(table)
        except MlflowException as error:
            status = error.get_http_status_code()
            if status >= 500:
                raise
            said = error.message
            if said.startswith("Failed to enforce schema"):  # behind all that it was given
                said = said.rpartition(" Error: ")[2]
            raise Refused(status, said) from None
        text = io.StringIO()
        scoring_server.predictions_to_json(found, text)
        return text.getvalue().encode()

    def _table(self, body: bytes) -> Any:
        from mlflow.pyfunc import scoring_server

        try:
            asked = parsed(body)
        except NoJson as error:
            raise Refused(400, f"the request is no JSON: {error}") from None
        given = [name for name in _FORMS if isinstance(asked, dict) and name in asked]
        if len(given) != 1:
            raise Refused(400, f"the request is an object with one of {', '.join(_FORMS)}")
        try:
            return scoring_server.infer_and_parse_data({given[0]: asked[given[0]]}, self._schema)
        except Exception as error:  # whatever pandas and MLflow raise of values of other types and shapes
            _LOG.info("no table", exc_info=True)
            said = str(getattr(error, "message", error)).partition("\n")[0]
            raise Refused(400, f"{given[0]} is no table with the column 'image': {said}") from None


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
