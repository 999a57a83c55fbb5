"""What the commands that run the project share: its folder, how they end, names that a shell completes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import click
from click.shell_completion import CompletionItem

from radrl.pipelines.stages import LAST, ONCE, PER_ARM

INTERRUPTED: Final = 130
"""The exit status after a SIGINT, as shells have it: 128 + the signal."""


def project_folder(start: Path) -> Path:
    """The project's folder, from anywhere within it.

    Args:
        start: where the command was called.

    Returns:
        The nearest folder upwards with dvc.yaml and conf/recipes.

    Raises:
        click.UsageError: when there is none.
    """
    for folder in (start, *start.parents):
        if (folder / "dvc.yaml").is_file() and (folder / "conf" / "recipes").is_dir():
            return folder
    raise click.UsageError(f"{start} is not within the project: change into the folder that holds dvc.yaml")


def stopped(end: KeyboardInterrupt | SystemExit) -> click.exceptions.Exit:
    """Say what a signal leaves behind.

    Args:
        end: what the signal became.

    Returns:
        What ends the command, with the status that a shell gives the signal.
    """
    click.echo("\nstopped: finished stages are kept; started again, it goes on where it was", err=True)
    code = getattr(end, "code", INTERRUPTED)
    return click.exceptions.Exit(code if isinstance(code, int) else 1)


_ARMS = Path("data/06_models/arms")


def complete_arms(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The arms that have a policy."""
    return _items((folder.name for folder in sorted((_root() / _ARMS).glob("*"))), incomplete)


def complete_stages(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
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
        return project_folder(Path.cwd())
    except click.UsageError:
        return Path.cwd()


def _items(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
