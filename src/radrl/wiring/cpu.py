"""Notes what each stage of a run costs and where it ran, and tells it beside the comparison page.

See `kedro_repro.cpu_seconds` and `radrl.storage.origins`; no stage reads either, and no output holds them.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import CatalogProtocol
from kedro.pipeline.node import Node

from kedro_repro import cpu_seconds
from kedro_repro.code_digests import split, stages
from kedro_repro.project import load
from radrl.pipelines.stages import LAST
from radrl.storage import origins
from radrl.wiring.hooks import stage_of
from radrl.wiring.last_word import PAGE
from radrl.wiring.origin import here


class CpuHooks:
    """Gives each stage what the process used from its first node to that of the next stage.

    The process' start, of which all stages of a `kedro run` have need, is the first one's; of the clock's
    minutes it is not, for a process may have waited.
    """

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._minutes: dict[str, float] = {}
        self._stage, self._since, self._began = "", 0.0, 0.0

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Find the folder of this environment's data, and keep the parameters, unchecked as yet."""
        self._params = context.params
        data = Path(context.config_loader["globals"]["data"])
        self._root = Path(context.project_path)
        self._folder = self._root / data / cpu_seconds.FOLDER
        self._origins = self._root / data / origins.FOLDER

    @hook_impl
    def after_catalog_created(self, catalog: CatalogProtocol) -> None:
        """Keep where the environment has the page."""
        self._page = Path(catalog[PAGE]._filepath)

    @hook_impl
    def before_node_run(self, node: Node) -> None:
        """Close the account of the stage before, where this node is another one's."""
        stage = f"{stage_of(node)}@{node.namespace}" if node.namespace else stage_of(node)
        if node.outputs and stage != self._stage:  # a node that only prints belongs to what ran before it
            self._close()
            self._stage, self._began = stage, time.monotonic()

    @hook_impl(tryfirst=True)  # the record keeps a copy of the page with its notes put in
    def after_dataset_saved(self, dataset_name: str) -> None:
        """Write all accounts so far, and what they say beside the page where it is one that was saved.

        Notes of arms that params.yaml no longer lists stay where they lie, and are not told.
        """
        if dataset_name != PAGE:
            return
        from radrl.pages import run_notes
        from radrl.wiring.run_notes import slots

        self._write()
        there = {*stages(load(self._root), self._params)}
        cpu, ran = cpu_seconds.read(self._folder), origins.read(self._origins)
        known = {name: own for name, own in ran.items() if _told(name, there)} | {LAST: here(self._root)}
        spent = {name: own for name, own in cpu.items() if _told(name, there)}
        run_notes.write(self._page, slots(self._params["arms"], spent, known))

    @hook_impl
    def after_pipeline_run(self) -> None:
        """Close the last account, and write all of them."""
        self._write()

    def _write(self) -> None:
        self._close()
        origin = here(self._root)
        for stage, seconds in self._seconds.items():
            cpu_seconds.note(self._folder, stage, {cpu_seconds.OWN: seconds})
            origins.note(self._origins, stage, replace(origin, minutes=round(self._minutes[stage], 2)))

    def _close(self) -> None:
        if self._stage:
            cpu, clock = cpu_seconds.used(), time.monotonic()
            self._seconds[self._stage] = self._seconds.get(self._stage, 0.0) + cpu - self._since
            past = (clock - self._began) / 60
            self._minutes[self._stage] = self._minutes.get(self._stage, 0.0) + past
            self._since, self._began = cpu, clock


def _told(stage: str, there: Collection[str]) -> bool:
    """Whether the comparison is told of a stage: not of itself, and of an arm's while there is the arm."""
    return stage != LAST and (stage in there or not split(stage)[1])
