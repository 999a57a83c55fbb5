"""Says at the end of a `kedro run` where the comparison page lies; of a failed one, that it is older."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Final

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import CatalogProtocol
from kedro.pipeline import Pipeline

from radrl.pages.earlier import of_an_earlier_run

logger = logging.getLogger(__name__)

PAGE: Final = "comparison_page"
"""The page's entry of the catalog."""


class LastWordHooks:
    """Names the page, as `radrl repro` does where it runs the stages."""

    def __init__(self) -> None:
        self._root, self._page, self._written = Path(), Path(), False

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Keep the project's folder, from which the page is named."""
        self._root = Path(context.project_path)

    @hook_impl
    def after_catalog_created(self, catalog: CatalogProtocol) -> None:
        """Keep where the environment has the page."""
        self._page, self._written = Path(catalog[PAGE]._filepath), False

    @hook_impl
    def after_dataset_saved(self, dataset_name: str) -> None:
        """Note that this run wrote the page."""
        self._written = self._written or dataset_name == PAGE

    @hook_impl
    def after_pipeline_run(self) -> None:
        """Say where it lies."""
        if self._written and "DVC_STAGE" not in os.environ:
            logger.info("the page: %s", os.path.relpath(self._page, self._root))

    @hook_impl
    def on_pipeline_error(self, pipeline: Pipeline) -> None:
        """Say that the page that lies there is of an earlier run, where this one was to write it."""
        if self._written or PAGE not in pipeline.outputs() or "DVC_STAGE" in os.environ:
            return
        if said := of_an_earlier_run(self._page, self._root):
            logger.warning(said)
