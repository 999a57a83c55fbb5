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


class NoParams(ValueError):
    """params.yaml cannot be read; the message names it, the place and the mend."""


def params_text(root: Path) -> str:
    """The text of params.yaml.

    Raises:
        NoParams: when there is none, or it is no text.
    """
    file = root / PARAMS_FILE
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise NoParams(f"{file} holds bytes that are no UTF-8; save it as UTF-8") from None
    except OSError as error:
        said = error.strerror or error
        raise NoParams(f"{file} cannot be read: {said}; put the project's parameters there") from error


def read_params(root: Path) -> dict[str, Any]:
    """params.yaml as it stands.

    Raises:
        NoParams: when it cannot be read, or holds no parameters.
    """
    try:
        read: Any = load_yaml(params_text(root))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if isinstance(error, NoParams):
            raise
        raise NoParams(f"{root / PARAMS_FILE}: no valid YAML, {error}; mend that line") from None
    if not isinstance(read, dict):
        raise NoParams(f"{root / PARAMS_FILE} holds no mapping of parameters; write `key: value` lines")
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
