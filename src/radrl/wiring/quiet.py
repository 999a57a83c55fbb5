"""What Kedro and the libraries say twice, or to nobody, is left out of a run's output."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from typing import Final

RUNNER: Final = "kedro.runner.sequential_runner"
NODE: Final = "kedro.pipeline.node"


def apply() -> None:
    """From now on, in this process: a line a node, a mendable error once, no word of what TRL will rename."""
    logging.getLogger(RUNNER).addFilter(_LineANode())
    if not os.environ.get("RADRL_TRACEBACK"):
        for name in (RUNNER, NODE):
            logging.getLogger(name).addFilter(_said_at_the_end)
    # it is TRL and PEFT that ask under the old name, a dozen times a training
    old = r"`(is_)?gradient_checkpointing` is deprecated"
    warnings.filterwarnings("ignore", message=old, category=FutureWarning)


class _LineANode(logging.Filter):
    """Joins the two lines that Kedro's runner writes of each node."""

    def __init__(self) -> None:
        super().__init__()
        self._node = ""

    def filter(self, record: logging.LogRecord) -> bool:
        said = record.getMessage()
        if said.startswith("Completed node: "):
            self._node = said.partition(": ")[2]
            return False
        if said.startswith("Completed "):
            record.msg, record.args = f"{said}: {self._node}", ()
        return not said.startswith("Using synchronous mode")


def _said_at_the_end(record: logging.LogRecord) -> bool:
    """Whether a line is news: not the error that `radrl.wiring.errors` says last, nor that nothing ran."""
    if not record.getMessage().startswith(("Node ", "No nodes ran")):
        return True
    from radrl.wiring.errors import plain_words

    error = sys.exception()
    return error is None or not plain_words(error)
