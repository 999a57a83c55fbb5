"""The server of a policy: MLflow's requests and answers, behind a door that bounds both.

`mlflow models serve` takes requests of any size, works on several at once, and answers what it cannot read
with a stack trace or a 500. This one takes JSON alone, writes on one request after another, and says what was
wrong. `uvicorn --factory radrl.wiring.serve_app:create_app` starts it; `radrl serve` does.
"""

from __future__ import annotations

import asyncio
import io
import logging
import os
from collections.abc import MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from radrl.storage.json_files import NoJson, parsed
from radrl.wiring.guard import App, Guarded, Receive, Refused, Send
from radrl.wiring.served import MOST_BYTES

if TYPE_CHECKING:
    from mlflow.pyfunc import PyFuncModel

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
        """ASGI; a request's body comes whole from `radrl.wiring.guard`."""
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
