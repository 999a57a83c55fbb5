"""MLflow's server, whose pages open on runs in a browser that has not been there before.

MLflow's pages begin with the menu of language models' calls, and an experiment with their overview, until
somebody chooses the other menu; what the experiment's tag says of its kind counts no more. The choice is kept
in the browser. This makes it where none was made, and leaves any other.

`mlflow server --app-name radrl` starts it: `radrl` is an entry point of the group `mlflow.app`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from flask import Response

_CHOICE: Final = """<script>
const key = "mlflow.workflowType_v1";
if (localStorage.getItem(key) === null) localStorage.setItem(key, '"machine_learning"');
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

    return create_fastapi_app(app)
