"""Notes what each stage of a run costs in CPU seconds; see `radrl.storage.cpu_seconds`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import CatalogProtocol, MemoryDataset
from kedro.pipeline.node import Node

from radrl.pipelines.stages import LAST
from radrl.provenance.code import split, stages
from radrl.storage import cpu_seconds
from radrl.wiring.hooks import stage_of

CPU_SECONDS: Final = "cpu_seconds"
"""Name of the entry that tells the comparison what the stages before it cost."""


class CpuHooks:
    """Gives each stage what the process used from its first node to that of the next stage.

    The process' start, of which all stages of a `kedro run` have need, is the first one's.
    """

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._stage, self._since = "", 0.0

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Find the folder of this environment's data, and keep the parameters, unchecked as yet."""
        self._params = context.params
        data = Path(context.config_loader["globals"]["data"])
        self._folder = Path(context.project_path) / data / cpu_seconds.FOLDER

    @hook_impl
    def after_catalog_created(self, catalog: CatalogProtocol) -> None:
        """Hand the comparison what is known of the stages before it; of itself it knows nothing yet.

        Notes of arms that params.yaml no longer lists stay where they lie, and are not told.
        """
        known = cpu_seconds.read(self._folder)
        there = {*stages(self._params)}
        gone = {name for name in known if split(name)[1] and name not in there}
        told = known.keys() - gone - {LAST}
        catalog[CPU_SECONDS] = MemoryDataset({name: known[name] for name in known if name in told})

    @hook_impl
    def before_node_run(self, node: Node) -> None:
        """Close the account of the stage before, where this node is another one's."""
        stage = f"{stage_of(node)}@{node.namespace}" if node.namespace else stage_of(node)
        if node.outputs and stage != self._stage:  # a node that only prints belongs to what ran before it
            self._close()
            self._stage = stage

    @hook_impl
    def after_pipeline_run(self) -> None:
        """Close the last account, and write all of them."""
        self._close()
        for stage, seconds in self._seconds.items():
            cpu_seconds.note(self._folder, stage, {cpu_seconds.OWN: seconds})

    def _close(self) -> None:
        if self._stage:
            now = cpu_seconds.used()
            self._seconds[self._stage] = self._seconds.get(self._stage, 0.0) + now - self._since
            self._since = now
