"""MLflow's server, whose pages open on runs in a browser that has not been there before.

MLflow's pages begin with the menu of language models' calls, and an experiment with their overview, until
somebody chooses the other menu; what the experiment's tag says of its kind counts no more. At the first visit
a quarter of the window is an assistant's, which asks a language model that nobody has here. Both choices are
kept in the browser. This makes them where none was made, and leaves any other.

`mlflow server --app-name radrl` starts it: `radrl` is an entry point of the group `mlflow.app`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from radrl.wiring.guard import Guarded

if TYPE_CHECKING:
    from flask import Response

_MOST: Final = 64 << 20
"""Bytes of a request: the pages ask in a few hundred; who logs a file through this server sends it whole."""

_CHOICE: Final = """<script>
const chosen = {
  "mlflow.workflowType_v1": '"machine_learning"',
  "mlflow.assistant.fab.autoOpenedOnFirstLoad_v1": "true",
};
for (const [key, value] of Object.entries(chosen))
  if (localStorage.getItem(key) === null) localStorage.setItem(key, value);
</script>"""


def create_app() -> Any:
    """The server, for MLflow's command: what MLflow's own function of this name gives."""
    from flask import Response, request
    from mlflow.server import app
    from mlflow.server.fastapi_app import create_fastapi_app

    page = Path(str(app.static_folder)) / "index.html"
    text = page.read_text(encoding="utf-8").replace("<head>", f"<head>{_CHOICE}", 1)

    @app.before_request
    def opened() -> Response | None:
        return Response(text, mimetype="text/html") if request.path == "/" else None

    return Guarded(create_fastapi_app(app), most_bytes=_MOST, most_held=4 * _MOST, json=True)
