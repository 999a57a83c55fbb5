"""The interpreter that has vLLM, for tests that run it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

_MADE = Path(__file__).parents[2] / ".venv-vllm/bin/python"
PYTHON: Final = os.environ.get("RADRL_VLLM_PYTHON") or (str(_MADE) if _MADE.exists() else None)
needs_vllm = pytest.mark.skipif(
    PYTHON is None, reason="no interpreter with vLLM: `make engines`, or name one in RADRL_VLLM_PYTHON"
)
