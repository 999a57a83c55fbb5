"""`radrl repro`: `dvc repro` with several stages at once."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

import click

from kedro_repro.programs import DVC, environment
from kedro_repro.project import load
from kedro_repro.reproduce import Around, cores, reproduce
from kedro_repro.stage_graph import Graph
from radrl.commands.project import complete_stages, project_folder
from radrl.data.sources import is_drawn
from radrl.pages.page import DRAWN_FILMS, ONE_SEED, of_an_earlier_run
from radrl.pipelines.stages import LAST
from radrl.storage import yaml_files

_EXAMPLES: Final = """\b
Examples:
  radrl repro                    everything that is out of date
  radrl repro --jobs 1           one stage after another, as `dvc repro` does
  radrl repro eval@deer          one arm, and what it needs
  radrl repro --dry-run          what would run"""

PAGE: Final = "data/08_reporting/comparison/comparison.html"
NEXT: Final = f"""\
the page    {PAGE}
all runs    radrl ui
dvc.lock    says what ran with what; commit it to come back to it"""
LAPTOP_BYTES: Final = 100e6
"""Weights up to this size leave room for other stages beside the one that trains them."""


@click.command("repro", epilog=_EXAMPLES)
@click.argument("targets", metavar="[STAGE]...", nargs=-1, shell_complete=complete_stages)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Stages that run at once.  [default: cores / `threads` for a laptop's policy, else 1]",
)
@click.option("--dry-run", is_flag=True, help="Say what would run; run nothing, and change no file.")
@click.option("--verbose", is_flag=True, help="Print all that stages print, too, while they run.")
def command(targets: tuple[str, ...], jobs: int | None, dry_run: bool, verbose: bool) -> None:
    """Run every stage that is out of date, or STAGE and what it needs, several at once.

    DVC runs each stage and records it in dvc.lock, so the outcome is that of `dvc repro`, byte for byte; what
    is new is that stages which do not wait for one another run side by side. What a stage prints goes to
    build/repro/STAGE.log, its warnings, or with --verbose all of it, also here.

    Kill it when you like: finished stages are kept, and training goes on from its last checkpoint.
    """
    root = project_folder(Path.cwd())
    reproduce(load(root), targets, jobs, RadrlRun(root), dry_run=dry_run, verbose=verbose)


class RadrlRun(Around):
    """Checks params.yaml and the machine before, and shows the headlines after."""

    command = "radrl repro"

    def jobs(self, params: Mapping[str, Any]) -> int:
        """As many as the cores carry, for a laptop's policy."""
        return default_jobs(params)

    def before(self) -> None:
        """The first stage would say the same, where stages are Kedro's.

        Raises:
            click.ClickException: naming every wrong key.
        """
        file = self.root / "params.yaml"
        yaml_files.read(file)  # before DVC reads it, whose message has no mend
        if not load(self.root).package:
            return
        from radrl.doctor.recipe import refusal

        if said := refusal(file):
            raise click.ClickException(said)

    def before_stages(self, chosen: Collection[str]) -> None:
        """Look before the first stage runs: the last may run tomorrow.

        Raises:
            click.ClickException: naming what is not there.
        """
        from radrl.doctor import mends
        from radrl.doctor.recipe import lacking

        if lacks := lacking(self.root / "params.yaml", self.root, chosen):
            raise click.ClickException("\n".join(["params.yaml asks for what is not there:", *mends(lacks)]))

    def after_failure(self, chosen: Collection[str]) -> str:
        """Of which run the page is that is there."""
        return of_an_earlier_run(self.root / PAGE, self.root) if LAST in chosen else ""

    def after(self, graph: Graph, params: Mapping[str, Any]) -> None:
        """Show the arms' headlines, and where to read on."""
        _show_headlines(self.root, graph, params)


def _show_headlines(root: Path, graph: Graph, params: Mapping[str, Any]) -> None:
    arms = [stage.removeprefix("eval@") for stage in graph if stage.startswith("eval@")]
    figures = [f"data/08_reporting/eval/{arm}/headline.json" for arm in arms]
    subprocess.run([*DVC, "metrics", "show", *figures], cwd=root, env=environment(), check=False)
    if is_drawn(params["ingest"]):
        click.echo(DRAWN_FILMS, err=True)
    click.echo(ONE_SEED, err=True)
    click.echo(f"\n{NEXT}", err=True)
    if activate := not_activated(root):
        click.echo(
            f"commands    {activate}   (once a terminal: then radrl, kedro, dvc and mlflow are found)",
            err=True,
        )


def not_activated(root: Path) -> str:
    """How to activate the project's environment; empty where commands are found without.

    Args:
        root: the project's folder.
    """
    script = Path(sys.prefix) / "bin" / "activate"
    if os.environ.get("VIRTUAL_ENV") or not script.is_file():
        return ""
    return f"source {script.relative_to(root) if script.is_relative_to(root) else script}"


def default_jobs(params: Mapping[str, Any]) -> int:
    """How many stages run at once where nobody says.

    Args:
        params: params.yaml.

    Returns:
        As many as the cores carry, for a laptop's policy; 1 for a real one, which takes a GPU for itself.
    """
    path = params["policy"]["path"]
    if path is not None and _bytes_of_weights(Path(path)) > LAPTOP_BYTES:
        return 1
    return max(1, cores() // int(params["threads"]))


def _bytes_of_weights(folder: Path) -> float:
    """What a policy's weights take; without end where there are none to see, so that nothing is risked."""
    files = list(folder.glob("*.safetensors"))
    return sum(file.stat().st_size for file in files) if files else math.inf
