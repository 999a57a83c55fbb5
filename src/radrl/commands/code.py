"""`radrl code`: what every stage's code does, as digests that DVC compares; what a stage's code is."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import click
import yaml

import radrl
from radrl.commands.project import project
from radrl.parts.near import near
from radrl.storage.whole_files import whole_file

_EXAMPLES: Final = """\b
Examples:
  radrl code                     write data/08_reporting/code.yaml; `dvc repro` does this first of all
  radrl code train@grpo          the files whose change runs this stage again"""

_HEADER: Final = (
    "# A digest of what each stage's code does (`radrl code STAGE` lists its files), for DVC to compare.\n"
)


@click.command("code", epilog=_EXAMPLES)
@click.argument("stage", required=False)
def command(stage: str | None) -> None:
    """Write a digest of what each stage's code does, or list the files that are the code of STAGE.

    A stage runs again when its digest changes: comments, docstrings and layout have no part in it, nor has a
    reward, credit, source, metric or judge that params.yaml does not name for the stage's arm.
    """
    root = project(Path.cwd())
    _be_of(root)
    from radrl.provenance.code import CODE_FILE, digests, split, stage_code, stages
    from radrl.provenance.started import read_params

    params = read_params(root)
    if stage is None:
        write(root / CODE_FILE, _HEADER + yaml.safe_dump(digests(params), sort_keys=False))
        return
    if stage not in (known := stages(params)):
        raise click.BadParameter(f"no stage {stage!r}{near(stage, known)} `dvc stage list` names all")
    name, key = split(stage)
    for file in sorted({*stage_code(name, params, key).values()}):
        click.echo(file.relative_to(root) if file.is_relative_to(root) else file)


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


def write(file: Path, text: str) -> None:
    """Write a small file whole; where it has this text already, leave it alone."""
    if file.is_file() and file.read_text(encoding="utf-8") == text:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(file) as stream:
        stream.write(text.encode())
