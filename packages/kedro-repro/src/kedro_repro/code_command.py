"""What the first stage of all does: it writes the digests of what every stage's code does."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from kedro_repro import code_digests
from kedro_repro.false_records import take_out
from kedro_repro.project import Project
from kedro_repro.stage_graph import near
from kedro_repro.stage_start import again


def tell_code(project: Project, params: Any, stage: str | None, *, prints: bool) -> None:
    """Write digests, print them, or list the files of a stage's code.

    Args:
        project: whose stages they are.
        params: params.yaml.
        stage: the one whose files are listed; nothing for the digests of all.
        prints: print the digests and change no file.
    """
    if stage is None:
        found = code_digests.digests(project, params)
        if prints:
            click.echo(code_digests.written(project, found), nl=False)
        else:
            code_digests.write_digests(project, again(found, _taken_out(project.root)))
        return
    if stage not in (known := code_digests.stages(project, params)):
        raise click.BadParameter(f"no stage {stage!r}{near(stage, known)} `dvc stage list` names all")
    name, key = code_digests.split(stage)
    for file in sorted({*code_digests.stage_code(project, name, params, key).values()}):
        click.echo(file.relative_to(project.root) if file.is_relative_to(project.root) else file)


def _taken_out(root: Path) -> list[str]:
    """Stages of which dvc.lock said what did not run, and which the DVC that runs this must run again.

    DVC has read dvc.lock before it starts this first stage of all, and reads no entry a second time.
    """
    found = take_out(root)
    for said in found.values():
        click.echo(f"WARNING {said}", err=True)
    return [*found] if "DVC_STAGE" in os.environ else []
