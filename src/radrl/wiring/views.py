"""How MLflow's page of an experiment opens: which runs, which columns, in which order.

MLflow keeps a view that somebody shares as a tag of the experiment, and opens it by the tag's name in the
address. These tags are written with the experiment, so the addresses hold for every record of radrl.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from radrl.wiring.metric_names import HEADLINE

ARMS: Final = "radrl-arms"
CURVES: Final = "radrl-curves"

_TAG: Final = "mlflow.sharedViewState."
_KIND: Final = {"mlflow.experimentKind": "custom_model_development"}
"""Without it the page opens on traces of language models' calls, of which there are none."""

_LABELS: Final = ("selection", "reward", "credit", "oracle", "seed")
_WIDE: Final = 215
"""Pixels that the name of a metric takes."""

_SHOWN: Final = 3
"""Metrics of the headline among the columns: with five labels they are the eight that fit."""


def tags(headline: Sequence[str]) -> Mapping[str, str]:
    """Tags of the experiment.

    Args:
        headline: metrics of `eval.headline`, the first of which sorts.
    """
    metrics = [f"{HEADLINE}/{name}" for name in headline]
    columns = [
        *(_column("tags", name) for name in _LABELS),
        *(_column("metrics", m) for m in metrics[:_SHOWN]),
    ]
    arms = _view("tags.stage = 'eval'", columns, by=_column("metrics", metrics[0]) if metrics else None)
    curves = _view("tags.stage = 'train'", [_column("tags", name) for name in _LABELS])
    views = {ARMS: arms, CURVES: curves}
    return _KIND | {f"{_TAG}{name}": json.dumps(view) for name, view in views.items()}


def _column(kind: str, name: str) -> str:
    return f"{kind}.`{name}`"


def _view(where: str, columns: Sequence[str], by: str | None = None) -> dict[str, Any]:
    return {
        "searchFilter": where,
        "orderByKey": by or "attributes.start_time",
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "modelVersionFilter": "All Runs",
        "datasetsFilter": [],
        "selectedColumns": list(columns),
        "columnWidths": {column: _WIDE for column in columns if column.startswith("metrics.")},
    }


def address(experiment: str, view: str = ARMS) -> str:
    """The end of a page's address, after the server's.

    Args:
        experiment: its id.
        view: `ARMS`, a table; `CURVES`, charts of all trainings.
    """
    mode = "CHART" if view == CURVES else "TABLE"
    return f"/#/experiments/{experiment}/runs?viewStateShareKey={view}&compareRunsMode={mode}"
