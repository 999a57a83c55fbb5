"""Kedro's project settings. The offline switches come first: libraries read them when they are imported."""

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from kedro.config import OmegaConfigLoader
from omegaconf import DictConfig, ListConfig, OmegaConf

from radrl.process import bars, importing
from radrl.process.ending import end_with_starter

importing.prepare()
bars.apply()
end_with_starter(os.environ)  # before the libraries, which take seconds

from radrl.storage import yaml_files  # noqa: E402
from radrl.storage.yaml_files import NoYaml  # noqa: E402
from radrl.wiring import quiet  # noqa: E402
from radrl.wiring.cpu import CpuHooks  # noqa: E402
from radrl.wiring.errors import say_plainly  # noqa: E402
from radrl.wiring.hooks import ProjectHooks, RecordHooks, TrackingHooks  # noqa: E402  (after the switches)
from radrl.wiring.last_word import LastWordHooks  # noqa: E402
from radrl.wiring.selected import SelectedHooks  # noqa: E402

say_plainly()
quiet.apply()

PROJECT = Path(__file__).resolve().parents[2]
PARAMS_FILE = PROJECT / "params.yaml"


def from_params(key: str) -> Any:
    """Resolve ``${params:key}`` in conf/ from the root params.yaml, the one place of numbers."""
    return OmegaConf.select(_read(PARAMS_FILE, PARAMS_FILE.stat().st_mtime_ns), key, throw_on_missing=True)


@lru_cache(maxsize=1)
def _read(path: Path, changed: int) -> DictConfig | ListConfig:
    """A file's values, parsed once: Kedro asks for thirty keys a run, and parsing takes 0.05 s.

    Raises:
        NoYaml: when it is none.
    """
    # OmegaConf's own reading has no bounds, and no mend
    if not isinstance(yaml_files.read(path), dict):
        raise NoYaml(
            f"{path} holds no mapping of parameters; give a file such as conf/recipes/phantom-quick.yaml"
        )
    try:
        return OmegaConf.create(_from_home(OmegaConf.to_container(OmegaConf.load(path))))
    except yaml.YAMLError as error:
        raise NoYaml.of(path, error) from None


def _from_home(value: Any) -> Any:
    """Paths below the user's home, ``~/...``, in full, as a shell would give them."""
    if isinstance(value, dict):
        return {key: _from_home(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_from_home(inner) for inner in value]
    return str(Path(value).expanduser()) if isinstance(value, str) and value.startswith("~/") else value


# the record first: it reads params.yaml before anybody else does
HOOKS = (RecordHooks(PROJECT), ProjectHooks(), TrackingHooks(), CpuHooks(), SelectedHooks(), LastWordHooks())
# kedro-telemetry comes with Kedro and is not even called; kedro-mlflow would open a second run beside ours
DISABLE_HOOKS_FOR_PLUGINS = ("kedro-telemetry", "kedro-mlflow")

CONFIG_LOADER_CLASS = OmegaConfigLoader
CONFIG_LOADER_ARGS = {
    "base_env": "base",
    "default_run_env": "local",
    "custom_resolvers": {"params": from_params},
    # an environment (conf/smoke) changes single keys of a section and keeps the others
    "merge_strategy": {"parameters": "soft"},
    "config_patterns": {"tracking": ["mlflow*"]},
}
