"""`radrl code`: what every stage's code does, as digests that DVC compares; what a stage's code is."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import click

import radrl
from radrl.commands.project import project_folder
from radrl.storage import yaml_files

_EXAMPLES: Final = """\b
Examples:
  radrl code                     write data/08_reporting/code.yaml; `dvc repro` does this first of all
  radrl code --print             the digests, and nothing is written
  radrl code train@grpo          the files whose change runs this stage again"""


@click.command("code", epilog=_EXAMPLES)
@click.argument("stage", required=False)
@click.option("--print", "prints", is_flag=True, help="Print the digests and change no file.")
def command(stage: str | None, prints: bool) -> None:
    """Write a digest of what each stage's code does, or list the files that are the code of STAGE.

    A stage runs again when its digest changes: comments, docstrings and layout have no part in it, nor has a
    reward, credit, source, metric or judge that params.yaml does not name for the stage's arm.
    """
    root = project_folder(Path.cwd())
    _be_of(root)
    from kedro_repro.code_command import tell_code
    from kedro_repro.project import load

    tell_code(load(root), yaml_files.read(root / "params.yaml"), stage, prints=prints)


def _be_of(root: Path) -> None:
    """Start again with the project's own package where another is installed: Kedro runs the project's.

    Raises:
        click.ClickException: when that does not help.
    """
    source = root / "src"
    if not (source / "radrl").is_dir() or Path(radrl.__file__).is_relative_to(source):
        return
    path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if path[0] == str(source):
        raise click.ClickException(
            f"the package that runs lies in {Path(radrl.__file__).parent}, not in {source}, although "
            "PYTHONPATH names that first; start the environment's own `radrl`, without -I or -E"
        )
    own = os.pathsep.join([str(source), *filter(None, path)])
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, "PYTHONPATH": own})
