"""Kedro hooks: in a stage that DVC started, what dvc.lock is going to say is what ran."""

from __future__ import annotations

import os
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

from kedro.framework.hooks import hook_impl
from kedro.io import CatalogProtocol
from kedro.pipeline import Pipeline

from kedro_repro.params_values import MISSING, PARAMS_FILE, value
from kedro_repro.parent_death import end_with_starter
from kedro_repro.run_records import RunRecord
from kedro_repro.stage_start import RunningStage, StageStart, begin

_PARAMS: Final = "params:"


class LockHooks:
    """Refuses to end as if what changed meanwhile had run, and notes what ran for whoever looks after DVC."""

    def __init__(self) -> None:
        self._begun: StageStart | None = None
        self._started: RunningStage | None = None

    def begin(self, root: Path) -> None:
        """Look at params.yaml and the files of the stage's code, before anybody reads or imports them.

        Kedro calls nothing so early. Where a project's settings.py imports code of its stages, it calls this
        before; otherwise the import of this module has done it, which Kedro does before it reads parameters.
        Nothing happens in a process that DVC did not start.

        Args:
            root: the project's folder.
        """
        stage = os.environ.get("DVC_STAGE", "").rpartition(":")[2]
        if stage and (self._begun is None or self._begun.project.root != root):
            end_with_starter(os.environ)
            self._begun = begin(root, stage)

    @hook_impl(trylast=True)  # what it notes has run, all other hooks of the run included
    def before_pipeline_run(self, pipeline: Pipeline, catalog: CatalogProtocol) -> None:
        """Note what the stage begins with.

        Raises:
            kedro_repro.stage_start.ChangedMeanwhile: when its code is not what DVC looked at, or its
                parameters are not those of when it began.
        """
        if self._begun:
            keys = sorted(
                name.removeprefix(_PARAMS) for name in pipeline.inputs() if name.startswith(_PARAMS)
            )
            self._started = self._begun.start(keys, _other(self._begun, keys, catalog))

    @hook_impl(trylast=True)  # what it notes has run, all other hooks of the run included
    def before_dataset_saved(self) -> None:
        """Look before an output takes its place: a training that is refused keeps its checkpoints.

        Raises:
            kedro_repro.stage_start.ChangedMeanwhile: naming the keys, or the stage whose code changed.
        """
        if self._started:
            self._started.require_unchanged()

    @hook_impl(trylast=True)  # what it notes has run, all other hooks of the run included
    def after_pipeline_run(self, pipeline: Pipeline, catalog: CatalogProtocol) -> None:
        """Look once more at the end, see `before_dataset_saved`, and leave the note."""
        if (begun := self._begun) and self._started:
            ran = self._ran(begun, self._started, pipeline, catalog)
            self._started.require_unchanged()
            ran.write(begun.project.root)

    def _ran(
        self, begun: StageStart, started: RunningStage, pipeline: Pipeline, catalog: CatalogProtocol
    ) -> RunRecord:
        from kedro_repro.dvc_digests import ByDvc

        root = begun.project.root
        digest = ByDvc(root)
        made = {out: digest(root / out) for out in _paths(root, pipeline.all_outputs(), catalog)}
        return RunRecord(
            stage=begun.stage,
            params=begun.params,
            digest=started.digest,
            reads=_paths(root, pipeline.inputs(), catalog),
            outs={out: own.value for out, own in made.items() if own.kind == "md5"},
            runs=os.path.relpath(runs, root) if (runs := digest.runs()) else "",
        )


def _paths(root: Path, names: set[str], catalog: CatalogProtocol) -> list[str]:
    """Where data sets lie that are artifacts, from the project's root."""
    found = []
    for name in sorted(names):
        path = path_of(catalog, name)
        if path is not None and path.exists():
            found.append(os.path.relpath(path, root))
    return found


def path_of(catalog: CatalogProtocol, name: str) -> Path | None:
    """Where a data set lies; nothing of parameters, what lies in memory, and a stage's own workspace."""
    if name.startswith(_PARAMS) or name == "parameters" or name not in catalog:
        return None
    path = getattr(catalog.get(name), "_filepath", None)
    return Path(str(path)) if path is not None and not name.endswith("workspace") else None


def _other(begun: StageStart, keys: list[str], catalog: CatalogProtocol) -> list[str]:
    """Keys whose values the nodes are handed are not those that params.yaml had as the process began."""
    params = begun.project.values(begun.params)
    handed = {key: catalog.get(f"{_PARAMS}{key}") for key in keys}
    read = {key: MISSING if entry is None else entry.load() for key, entry in handed.items()}
    return [key for key in keys if read[key] != value(params, key)]


def not_installed() -> tuple[LockHooks, ...]:
    """The hooks, for a settings.py to list where the plugin is imported from a folder and not installed.

    Kedro registers what is installed by itself, and would say nothing of hooks that are missing.
    """
    found = entry_points(group="kedro.hooks")
    return () if any(point.module == __name__ for point in found) else (hooks,)


hooks: Final = LockHooks()
"""What Kedro registers."""

if (Path.cwd() / PARAMS_FILE).is_file():
    hooks.begin(Path.cwd())
