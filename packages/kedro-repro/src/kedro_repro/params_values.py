"""Values of params.yaml by keys with dots between levels, as DVC names them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

PARAMS_FILE: Final = Path("params.yaml")
MISSING: Final = object()

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_yaml(text: str) -> Any:
    """What a YAML text says, by libyaml where PyYAML was built with it."""
    return yaml.load(text, Loader=_LOADER)


def read_params(root: Path) -> dict[str, Any]:
    """params.yaml as it stands."""
    read: dict[str, Any] = load_yaml((root / PARAMS_FILE).read_text(encoding="utf-8"))
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
