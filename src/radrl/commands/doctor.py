"""`radrl doctor`: what this machine has of what radrl and a recipe want."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from radrl.commands.project import project_folder

if TYPE_CHECKING:
    from radrl.doctor import Check

_EXAMPLES: Final = """\b
Examples:
  radrl doctor
  radrl doctor conf/recipes/deer-mimic_cxr.yaml
  radrl doctor conf/recipes/deer-mimic_cxr.yaml --r2gen-split --annotation annotation.json -o differing.csv"""

_FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)
_NEW: Final = click.Path(dir_okay=False, path_type=Path)
_MARKS: Final = {"there": ("✓", "green"), "without": ("-", "yellow"), "lacking": ("✗", "red")}


@click.command("doctor", epilog=_EXAMPLES)
@click.argument("recipe", required=False, type=_FILE, metavar="[RECIPE]")
@click.option("--no-hash", is_flag=True, help="Do not read weights through for their SHA-256.")
@click.option(
    "--r2gen-split", is_flag=True, help="Rebuild R2Gen's split of RECIPE's MIMIC-CXR; takes minutes."
)
@click.option("--annotation", type=_FILE, help="R2Gen's annotation.json, to hold that split against.")
@click.option("-o", "--output", type=_NEW, help="CSV file for the studies that differ: numbers, no text.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(
    recipe: Path | None,
    no_hash: bool,
    r2gen_split: bool,
    annotation: Path | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Say what this machine has, what lacks for RECIPE (params.yaml), what that costs, and the mend.

    Weights are hashed; nothing is loaded, and nothing sent but a question to the configured MLflow server.
    Ends with 1 when something lacks that the recipe asks for.
    """
    if (annotation and not r2gen_split) or (output and not annotation):
        raise click.UsageError("--annotation goes with --r2gen-split, and --output with --annotation")
    root = project_folder(Path.cwd())
    found = _examined(root, recipe or root / "params.yaml", hashed=not no_hash)
    if r2gen_split:
        found |= {"MIMIC-CXR": [_r2gen_split(recipe or root / "params.yaml", annotation, output)]}
    if as_json:
        told = {title: [asdict(one) for one in own] for title, own in found.items()}
        click.echo(json.dumps(told, indent=2, ensure_ascii=False))
    else:
        _show(found)
    lacking = [one for own in found.values() for one in own if one.state == "lacking"]
    if lacking:
        from radrl.doctor import mends

        raise click.ClickException(
            "\n".join([f"{len(lacking)} of what is asked for lacks:", *mends(lacking)])
        )


def _r2gen_split(recipe: Path, annotation: Path | None, output: Path | None) -> Check:
    from radrl.doctor.r2gen_split import r2gen_split
    from radrl.doctor.recipe import settings

    params, of_params = settings(recipe)
    return r2gen_split(params, annotation, output) if params else of_params


def _examined(root: Path, recipe: Path, *, hashed: bool) -> dict[str, list[Check]]:
    from radrl.doctor import environment
    from radrl.doctor.recipe import device_and_files, settings

    params, of_params = settings(recipe)
    return {
        "Machine": list(environment.machine(root)),
        "Packages": list(environment.packages(root)),
        "Programs": list(environment.programs()),
        str(recipe): [of_params, *(device_and_files(params, root, hashed=hashed) if params else [])],
        "Record": list(environment.record(root)),
    }


def _show(found: Mapping[str, Iterable[Check]]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False, emoji=False)
    for title, own in found.items():
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for one in own:
            mark, style = _MARKS[one.state]
            table.add_row(mark, one.name, one.said, style=None if one.state == "there" else style)
            if one.costs:
                table.add_row("", "", f"costs {one.costs}", style="dim")
            if one.mend:
                table.add_row("", "", f"mend  {one.mend}", style="dim")
        console.print(title, style="bold")
        console.print(table)
        console.print("")
