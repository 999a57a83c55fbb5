"""Hands the comparison what the stages that select films left, where they ran.

No dependency of the stage compare: a study whose arms need no rollouts need not sample any for its page. What
is told is decided by the arms alone, so that files of a stage that none of them waits for are not looked at.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from kedro.framework.hooks import hook_impl
from kedro.io import CatalogProtocol, MemoryDataset

SELECTED: Final = "selected"
"""Name of the entry: a function that reads datasets by name, and leaves out those that are not there."""


class SelectedHooks:
    """Brings the entry `SELECTED`."""

    @hook_impl
    def after_catalog_created(self, catalog: CatalogProtocol) -> None:
        """Nothing is read before a node asks."""
        catalog[SELECTED] = MemoryDataset(partial(_read, catalog), copy_mode="assign")


def _read(catalog: CatalogProtocol, *names: str) -> dict[str, Any]:
    return {name: catalog[name].load() for name in names if catalog[name].exists()}
