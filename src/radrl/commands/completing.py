"""What a shell is told when it completes the names of arms and stages."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from radrl.commands.project import project
from radrl.pipelines.stages import LAST, ONCE, PER_ARM

_ARMS = Path("data/06_models/arms")


def trained_arms(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The arms that have a policy."""
    return _items((folder.name for folder in sorted((_root() / _ARMS).glob("*"))), incomplete)


def stages(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The stages as DVC names them: those that run once, and STAGE@ARM."""
    from radrl.storage import yaml_files

    try:
        params = yaml_files.read(_root() / "params.yaml")
    except yaml_files.NoYaml:  # a shell is told nothing; the command itself says what is wrong
        params = {}
    arms = params.get("arms") if isinstance(params, dict) else None
    of_arms = [f"{stage}@{arm}" for stage in PER_ARM for arm in arms or ()]
    return _items([*ONCE, *PER_ARM, *of_arms, LAST], incomplete)


def _root() -> Path:
    try:
        return project(Path.cwd())
    except click.UsageError:
        return Path.cwd()


def _items(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
