"""`radrl code`: what every stage's code does, as digests that DVC compares; what a stage's code is."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import click

import radrl
from radrl.commands.project import project_folder
from radrl.parts.choices import near

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
    from radrl.provenance.code import digests, split, stage_code, stages, write_digests, written
    from radrl.provenance.started import again
    from radrl.provenance.values import read_params

    params = read_params(root)
    if stage is None and prints:
        click.echo(written(digests(params)), nl=False)
        return
    if stage is None:
        write_digests(root, again(digests(params), _taken_out(root)))
        return
    if stage not in (known := stages(params)):
        raise click.BadParameter(f"no stage {stage!r}{near(stage, known)} `dvc stage list` names all")
    name, key = split(stage)
    for file in sorted({*stage_code(name, params, key).values()}):
        click.echo(file.relative_to(root) if file.is_relative_to(root) else file)


def _taken_out(root: Path) -> list[str]:
    """Stages of which dvc.lock said what did not run, and which the DVC that runs this must run again.

    DVC has read dvc.lock before it starts this first stage of all, and reads no entry a second time.
    """
    from radrl.reproduction.untrue import take_out

    found = take_out(root)
    for said in found.values():
        click.echo(f"WARNING {said}", err=True)
    return [*found] if "DVC_STAGE" in os.environ else []


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
