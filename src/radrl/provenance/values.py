"""Values of params.yaml by keys with dots between levels, as DVC names them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from radrl.storage import yaml_files

PARAMS_FILE: Final = Path("params.yaml")
MISSING: Final = object()


def read_params(root: Path) -> dict[str, Any]:
    """params.yaml as it stands."""
    read: dict[str, Any] = yaml_files.read(root / PARAMS_FILE)
    return read


def value(params: Mapping[str, Any], key: str) -> Any:
    """What stands under a key with dots between levels; `MISSING` where there is no such key.

    Example:
        >>> value({"policy": {"dtype": "float32"}}, "policy.dtype")
        'float32'
    """
    found: Any = params
    for part in key.split("."):
        if not isinstance(found, Mapping) or part not in found:
            return MISSING
        found = found[part]
    return found
