"""How MLflow's page of an experiment opens: which runs, which columns, in which order.

MLflow keeps a view that somebody shares as a tag of the experiment, and opens it by the tag's name in the
address. These tags are written with the experiment, so the addresses hold for every record of radrl.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from radrl.wiring.metric_names import HEADLINE, STEPS

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
