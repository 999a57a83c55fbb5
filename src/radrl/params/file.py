"""params.yaml as Kedro reads it, by OmegaConf, and as stages are handed it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from omegaconf import OmegaConf

from radrl.storage import yaml_files
from radrl.storage.yaml_files import NoYaml


@lru_cache(maxsize=1)
def values(text: str, path: Path) -> Mapping[str, Any]:
    """What a file says, paths below the user's home in full; parsed once, for settings and hooks both ask.

    Args:
        text: of it.
        path: its place, for messages.

    Raises:
        NoYaml: when it is none.
    """
    try:
        # OmegaConf's own reading has no bounds
        if not isinstance(yaml_files.load(text), dict):
            raise NoYaml(
                f"{path} holds no mapping of parameters; give a file such as conf/recipes/phantom-quick.yaml"
            )
        read: dict[str, Any] = _from_home(OmegaConf.to_container(OmegaConf.create(text)))
    except yaml.YAMLError as error:
        raise NoYaml.from_pyyaml(path, error) from None
    return read


def _from_home(value: Any) -> Any:
    """Paths below the user's home, ``~/...``, in full, as a shell would give them."""
    if isinstance(value, dict):
        return {key: _from_home(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_from_home(inner) for inner in value]
    return str(Path(value).expanduser()) if isinstance(value, str) and value.startswith("~/") else value
