"""Kedro's project settings. The offline switches come first: libraries read them when they are imported."""

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from kedro.config import OmegaConfigLoader
from omegaconf import DictConfig, OmegaConf

from kedro_repro.parent_death import end_with_starter
from radrl.process import importing

importing.prepare()
importing.space_bars()
end_with_starter(os.environ)  # before the libraries, which take seconds

from kedro_repro.hooks import hooks, not_installed  # noqa: E402

PROJECT = Path(__file__).resolve().parents[2]
PARAMS_FILE = PROJECT / "params.yaml"
hooks.begin(PROJECT)  # looks at params.yaml and the code before anybody else reads or imports them

from radrl.errors import quieten, say_plainly  # noqa: E402
from radrl.params.file import values  # noqa: E402
from radrl.storage import yaml_files  # noqa: E402
from radrl.wiring.hooks import (  # noqa: E402  (after the switches)
    LastWordHooks,
    ProjectHooks,
    SelectedHooks,
    TrackingHooks,
)
from radrl.wiring.run_costs import CpuHooks  # noqa: E402

say_plainly()
quieten()


def from_params(key: str) -> Any:
    """Resolve ``${params:key}`` in conf/ from the root params.yaml, the one place of numbers."""
    return OmegaConf.select(_read(PARAMS_FILE, PARAMS_FILE.stat().st_mtime_ns), key, throw_on_missing=True)


def own_lengths(steps: int) -> dict[str, Any]:
    """Resolve ``${own_lengths:N}``: N updates for each arm that has a length of its own, and no other.

    An environment in which everything is brief (conf/smoke) lays it over ``arms``; `training.steps` alone
    would leave such arms as long as params.yaml has them.
    """
    arms = from_params("arms")
    own = {name: arm.get("training") or {} for name, arm in arms.items()}
    brief = {"training": {"steps": int(steps), "epochs": None}}
    return {name: brief for name, training in own.items() if {"steps", "epochs"} & {*training}}


@lru_cache(maxsize=1)
def _read(path: Path, changed: int) -> DictConfig:
    """A file's values, parsed once: Kedro asks for thirty keys a run, and parsing takes 0.05 s."""
    return OmegaConf.create(values(yaml_files.text(path), path))


HOOKS = (*not_installed(), ProjectHooks(), TrackingHooks(), CpuHooks(), SelectedHooks(), LastWordHooks())
# kedro-telemetry comes with Kedro and is not even called; kedro-mlflow would open a second run beside ours
DISABLE_HOOKS_FOR_PLUGINS = ("kedro-telemetry", "kedro-mlflow")

CONFIG_LOADER_CLASS = OmegaConfigLoader
CONFIG_LOADER_ARGS = {
    "base_env": "base",
    "default_run_env": "local",
    "custom_resolvers": {"params": from_params, "own_lengths": own_lengths},
    # an environment (conf/smoke) changes single keys of a section and keeps the others
    "merge_strategy": {"parameters": "soft"},
    "config_patterns": {"tracking": ["mlflow*"]},
}
