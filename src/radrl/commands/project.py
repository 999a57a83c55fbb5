"""What the commands that run the project's stages share."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

INTERRUPTED: Final = 130
"""The exit status after a SIGINT, as shells have it: 128 + the signal."""


def project(start: Path) -> Path:
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
