"""A Kedro plugin that writes down what a stage's process computes with, as its nodes are handed it.

It is no part of radrl, and knows nothing of what radrl notes itself: `faults.edits` holds dvc.lock against
it.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

from kedro.framework.hooks import hook_impl
from kedro.io import CatalogProtocol
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

FOLDER = "RADRL_WITNESS"
"""The variable with the folder that takes what is written down."""


class Witness:
    """Of one run of a stage: values, the code's own number, files read and files made."""

    def __init__(self) -> None:
        self._seen: dict[str, Any] = {"stage": os.environ.get("DVC_STAGE", ""), "began": time.time()}
        self._seen |= {"params": {}, "reads": []}

    @hook_impl
    def before_node_run(self, node: Node, catalog: CatalogProtocol, inputs: dict[str, Any]) -> None:
        for name, data in inputs.items():
            if name.startswith("params:"):
                self._seen["params"][name.removeprefix("params:")] = data
            elif (path := _path(catalog, name)) and path.exists():
                self._seen["reads"].append(os.path.relpath(path))

    @hook_impl
    def after_pipeline_run(self, pipeline: Pipeline, catalog: CatalogProtocol) -> None:
        folder = os.environ.get(FOLDER)
        if not folder:
            return
        import radrl.pipelines

        paths = [_path(catalog, name) for name in pipeline.all_outputs()]
        files = {str(file) for path in paths if path for file in _files(path)}
        self._seen["files"] = {
            os.path.relpath(file): hashlib.md5(Path(file).read_bytes()).hexdigest() for file in files
        }
        own = {os.path.relpath(path) for path in paths if path}  # which its other nodes may read
        self._seen["reads"] = [path for path in self._seen["reads"] if path not in own]
        self._seen |= {"code": getattr(radrl.pipelines, "EDITED", 0), "ended": time.time()}
        name = f"{time.time_ns()}.{os.getpid()}.json"
        partial = Path(folder) / f".{name}"
        partial.write_text(json.dumps(self._seen, default=str))
        partial.rename(Path(folder) / name)


def _path(catalog: CatalogProtocol, name: str) -> Path | None:
    path = getattr(catalog.get(name), "_filepath", None) if name in catalog else None
    return None if path is None or name.endswith("workspace") else Path(str(path))


def _files(path: Path) -> list[Path]:
    return [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]


witness = Witness()
