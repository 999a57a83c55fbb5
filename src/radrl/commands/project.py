"""What the commands about the project share: its folder, how they end, lists of numbers, completed names."""

from __future__ import annotations

import re
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


class Numbers(click.ParamType[tuple[int, ...]]):
    """Whole numbers with commas or blanks between them.

    Args:
        named: what they are, with an example, for who gives others.
        least: the smallest that counts.
        different: whether one may not stand twice.
    """

    name = "list"

    def __init__(self, named: str, *, least: int = 0, different: bool = False) -> None:
        self._named, self._least, self._different = named, least, different

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Read what the command line says; what is no such list is a usage error that says what would be."""
        parts = re.split(r"[,\s]+", str(value).strip())
        if not all(part.isdecimal() and int(part) >= self._least for part in parts) or (
            self._different and len(set(parts)) != len(parts)
        ):
            self.fail(f"{value!r} is no list of {self._named}", param, ctx)
        return tuple(map(int, parts))


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
