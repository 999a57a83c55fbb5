"""MLflow's pages of the record: which numbers stand together, how an experiment opens, and their server.

What stands before the first `/` of a number's name is a section of MLflow's charts. Files and params.yaml
keep their own names, whose prefix says who read what: `ce_rules_gold_macro14_f1` is
`ce_rules_gold/macro14_f1` here. What no table or family holds, such as counts, stands below the stage.

MLflow keeps a view that somebody shares (which runs, which columns, in which order) as a tag of the
experiment, and opens it by the tag's name in the address. These tags are written with the experiment, so the
addresses hold for every record of radrl.

MLflow's pages begin with the menu of language models' calls, and an experiment with their overview, until
somebody chooses the other menu; what the experiment's tag says of its kind counts no more. At the first visit
a quarter of the window is an assistant's, which asks a language model that nobody has here. Both choices are
kept in the browser. The server makes them where none was made, and leaves any other.
`mlflow server --app-name radrl` starts it: `radrl` is an entry point of the group `mlflow.app`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from flask import Response


HEADLINE: Final = "headline"
"""Section of the metrics that `eval.headline` names, before all others by what is shown of a run."""

STEPS: Final = "training"
"""Section of what a trainer tells of its steps: its own come first, those of TRL and the rewards below it."""

_FAMILY: Final = re.compile(
    r"(ce_.+?)_((?:exact_match|micro|macro|sample|weighted|mccs).*)|(nlg|weighted_findings|green_rules|radgraph_rules|radgraph|green|radeval)_(.+)"
)


def grouped(key: str, above: str | None = None, *, stage: str = "") -> str:
    """A number's name with its section.

    Args:
        key: as the stage names it, keys of nested tables joined by dots.
        above: a section that all names are put below.
        stage: the section of a name that tells of none.

    Returns:
        The name; without `above` unchanged where it has a section.

    Example:
        >>> grouped("words_mean", stage="eval")
        'eval/words_mean'
    """
    if above:
        return f"{above}/{key}"
    if "/" in key:
        return key
    if found := _FAMILY.fullmatch(key):
        section, name = (part for part in found.groups() if part is not None)
        return f"{section}/{name}"
    section, dot, name = key.partition(".")
    if dot:
        return f"{section}/{name}"
    return f"{stage}/{key}" if stage else key


ARMS: Final = "radrl-arms"
CURVES: Final = "radrl-curves"
MODELS: Final = "models"
"""No view of runs: the policies that were logged, with the scores of their evaluation."""

_TAG: Final = "mlflow.sharedViewState."
_ARM: Final = "tags.`arm`"
_KIND: Final = {"mlflow.experimentKind": "custom_model_development"}
"""The kind as MLflow's page notes it; of 3.17 the page itself goes by its menu (`radrl.wiring.ui_server`)."""

_WORKFLOW: Final = "workflowType=machine_learning"
"""In an address: a browser that has not been here before has the menu of language models' calls otherwise."""

_LABELS: Final = {"selection": 95, "reward": 112, "credit": 75, "oracle": 75, "seed": 50}
"""By tag the pixels that its values take: with the metrics as many as a window of 1680 has."""

_WIDE: Final = 222
"""Pixels that the name of a metric takes."""

_SHOWN: Final = 3
"""Metrics of the headline among the columns: with five labels they are the eight that fit."""


_CHARTS: Final = ("reward", "", "kl", "completions/mean_length")
"""What a trainer tells whose charts stand first, in this order; the empty one is what a look at validation
films measures, whose name the parameters say."""


def tags(headline: Sequence[str], watched: str = "") -> Mapping[str, str]:
    """Tags of the experiment.

    Args:
        headline: metrics of `eval.headline`, the first of which sorts.
        watched: the number by which looks at validation films are judged, as a trainer tells it.
    """
    metrics = {_column("metrics", f"{HEADLINE}/{name}"): _WIDE for name in headline[:_SHOWN]}
    labels = {_column("tags", name): width for name, width in _LABELS.items()}
    # by time of start the page would fold runs into those above them, out of sight
    arms = _view("tags.stage = 'eval'", metrics | labels, by=[*metrics, _ARM][0])
    curves = _view("tags.stage = 'train'", labels, by=_ARM) | _charts(watched)
    views = {ARMS: arms, CURVES: curves}
    return _KIND | {f"{_TAG}{name}": json.dumps(view) for name, view in views.items()}


def _column(kind: str, name: str) -> str:
    return f"{kind}.`{name}`"


def _view(where: str, columns: Mapping[str, int], *, by: str) -> dict[str, Any]:
    return {
        "searchFilter": where,
        "orderByKey": by,
        "orderByAsc": by == _ARM,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "modelVersionFilter": "All Runs",
        "datasetsFilter": [],
        "selectedColumns": [*columns],
        "columnOrder": [*columns],  # without it the page takes no widths
        "columnWidths": dict(columns),
        "runsHiddenMode": "FIRST_20_RUNS",  # of the page's own choice, 10, a second seed would see nothing
    }


def _charts(watched: str) -> dict[str, Any]:
    """The first charts, and sections with room for names; the page puts all others behind them."""
    keys = [f"{STEPS}/{name or watched}" for name in _CHARTS if name or watched]
    sections = [
        STEPS,
        f"{STEPS}/completions",
        *([f"{STEPS}/{watched.rpartition('/')[0]}"] if watched else []),
    ]
    return {
        "compareRunSections": [*map(_section, sections)],
        "compareRunCharts": [*map(_chart, keys)],
    }


def _section(name: str) -> dict[str, Any]:
    """Charts below one heading, two in a row: of three the longer names would be cut off."""
    kept = {"display": True, "isReordered": True, "isGenerated": True, "deleted": False}
    return {"uuid": name, "name": name, "columns": 2, "cardHeight": 300} | kept


def _chart(key: str) -> dict[str, Any]:
    """A chart of lines as the page makes one itself; it draws none that lacks one of these."""
    return {
        "uuid": key,
        "type": "LINE",
        "metricSectionId": STEPS,
        "isGenerated": True,
        "deleted": False,
        "runsCountToCompare": 10,
        "metricKey": key,
        "lineSmoothness": 0,
        "xAxisScaleType": "linear",
        "scaleType": "linear",
        "range": {},
        "xAxisKey": "step",
        "selectedXAxisMetricKey": "",
        "yAxisKey": "metric",
        "yAxisExpressions": [],
        "ignoreOutliers": False,
        "useGlobalXaxisKey": True,
        "useGlobalLineSmoothing": True,
    }


def address(experiment: str, view: str = ARMS) -> str:
    """The end of a page's address, after the server's.

    Args:
        experiment: its id.
        view: `ARMS`, a table; `CURVES`, charts of all trainings; `MODELS`, a table of policies.
    """
    if view == MODELS:
        return f"/#/experiments/{experiment}/models?{_WORKFLOW}"
    mode = "CHART" if view == CURVES else "TABLE"
    return f"/#/experiments/{experiment}/runs?viewStateShareKey={view}&compareRunsMode={mode}&{_WORKFLOW}"


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

    from radrl.process.http_door import Guarded

    page = Path(str(app.static_folder)) / "index.html"
    text = page.read_text(encoding="utf-8").replace("<head>", f"<head>{_CHOICE}", 1)

    @app.before_request
    def opened() -> Response | None:
        return Response(text, mimetype="text/html") if request.path == "/" else None

    return Guarded(create_fastapi_app(app), most_bytes=_MOST, most_held=4 * _MOST, json=True)
