"""How vLLM's worker reads weights out of memory; its script stands alone."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from typing import Any

from radrl.policy import vllm_writer


def worker_reads() -> Callable[[Any], Any]:
    """The worker's own reading, for this process."""
    before = list(sys.path)
    sys.path.insert(0, str(vllm_writer.SCRIPT.parent))
    try:
        found: Callable[[Any], Any] = runpy.run_path(str(vllm_writer.SCRIPT))["read"]
    finally:
        sys.path[:] = before
    return found
