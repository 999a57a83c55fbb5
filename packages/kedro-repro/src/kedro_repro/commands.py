"""`kedro repro`: the commands of this plugin within Kedro's own, and by `python -m kedro_repro` without."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import click

from kedro_repro import reproduce
from kedro_repro.code_command import tell_code
from kedro_repro.dvc_repair import BrokenLock
from kedro_repro.false_records import find
from kedro_repro.locks import AlreadyRunning
from kedro_repro.params_values import NoParams, read_params
from kedro_repro.project import Project, ProjectError, load
from kedro_repro.schedule import StageFailed
from kedro_repro.stage_graph import DvcError, stages, would_run

_MENDABLE = (StageFailed, DvcError, BrokenLock, AlreadyRunning, ProjectError, NoParams)
"""Their messages say what to do; a traceback would hide it."""


class _Group(click.Group):
    """Says errors that a user can mend in their own words."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except _MENDABLE as error:
            raise click.ClickException(str(error)) from error


@click.group("kedro-repro")
def commands() -> None:
    """DVC reproduces this project's pipelines."""


@commands.group("repro", cls=_Group)
def group() -> None:
    """Reproduce this project's pipelines by DVC, several at once, each recorded as what it ran with."""


@group.command("stages")
@click.option("--check", is_flag=True, help="Say what differs, exit 1 where something does, write nothing.")
def write_stages(check: bool) -> None:
    """Write dvc.yaml from the registered pipelines and the catalog."""
    from kedro_repro import dvc_yaml

    project = here()
    _configure(project)
    file = project.root / "dvc.yaml"
    if not check:
        dvc_yaml.write(project, file)
    elif changes := dvc_yaml.changes(project, file):
        click.echo("\n".join([f"dvc.yaml has drifted; run `{project.program} stages`.", *changes]))
        raise click.exceptions.Exit(1)


@group.command("code")
@click.argument("stage", required=False)
@click.option("--print", "prints", is_flag=True, help="Print the digests and change no file.")
def code(stage: str | None, prints: bool) -> None:
    """Write a digest of what each stage's code does, or list the files that are the code of STAGE.

    A stage runs again when its digest changes: comments, docstrings and layout have no part in it, nor has
    code that params.yaml could name for the stage and does not.
    """
    project = here()
    tell_code(project, read_params(project.root), stage, prints=prints)


@group.command("run")
@click.argument("targets", metavar="[STAGE]...", nargs=-1)
@click.option("--jobs", type=click.IntRange(min=1), help="Stages that run at once.  [default: the cores]")
@click.option("--dry-run", is_flag=True, help="Say what would run; run nothing, and change no file.")
@click.option("--verbose", is_flag=True, help="Print all that stages print, too, while they run.")
def run(targets: tuple[str, ...], jobs: int | None, dry_run: bool, verbose: bool) -> None:
    """Run every stage that is out of date, or STAGE and what it needs, several at once.

    DVC runs each stage and records it in dvc.lock, so the outcome is that of `dvc repro`. What a stage prints
    goes to build/repro/STAGE.log. Kill it when you like: finished stages are kept.
    """
    project = here()
    signal.signal(signal.SIGTERM, _terminated)
    own = reproduce.around(project)
    reproduce.reproduce(project, targets, jobs, own, dry_run=dry_run, verbose=verbose)


@group.command("status")
def status() -> None:
    """Say which stages are out of date and which records are false; change no file."""
    root = here().root
    for untrue in (found := find(root)).values():
        click.echo(untrue)
    graph = stages(root)
    chosen = would_run(root, graph, found)
    for stage in graph:
        click.echo(f"{'out of date' if stage in chosen else 'up to date':12s} {stage}")


def here() -> Project:
    """The project that the command was called in, its package importable.

    Raises:
        click.UsageError: when there is none.
    """
    for folder in (start := Path.cwd(), *start.parents):
        if (folder / "pyproject.toml").is_file():
            source = str(load(folder, with_class=False).source)
            if source not in sys.path:
                sys.path.insert(0, source)
            return load(folder)
    raise click.UsageError(f"{start} is not within a Kedro project: change into the folder of pyproject.toml")


def _configure(project: Project) -> None:
    """Let Kedro know the project, as its own command does before it runs one of these."""
    from kedro.framework.project import PACKAGE_NAME
    from kedro.framework.startup import bootstrap_project

    if PACKAGE_NAME is None:
        bootstrap_project(project.root)


def _terminated(number: int, frame: FrameType | None) -> NoReturn:
    """End by way of the `finally` blocks, which end what runs."""
    sys.exit(128 + number)
