"""`radrl plan`: what a recipe needs before it is run, and what cannot be run where."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from radrl.commands.project import Numbers
from radrl.pages.tables import Marks

if TYPE_CHECKING:
    from radrl.plan.report import Plan

MARKS: Final = Marks.of_command("plan")

_EXAMPLES: Final = """\b
Examples:
  radrl plan conf/recipes/phantom-laptop.yaml
  radrl plan conf/recipes/deer-mimic_cxr.yaml --card h100 --devices 8
  radrl plan params.yaml --calibrate
  radrl plan params.yaml --policy weights/Qwen2.5-VL-7B-Instruct --films 50000 --json
  radrl plan conf/recipes/orapo-mimic_cxr.yaml --card a100 --throughput layer_ms=0.4
  radrl plan conf/recipes/*-mimic_cxr.yaml --card h100 --devices 1,8,64 --workers 0 --into docs/scale.md"""


@click.command("plan", epilog=_EXAMPLES)
@click.argument(
    "recipes",
    nargs=-1,
    required=True,
    metavar="RECIPE...",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option(
    "--devices",
    type=Numbers("numbers above 0, such as 1,8,64", least=1),
    help="That share a training; by commas, several.  [default: compute.processes]",
)
@click.option(
    "--card",
    help="What a device is, where `device` is no CPU: h100, h200, a100, l40s.  [default: this machine's]",
)
@click.option(
    "--memory",
    type=click.FloatRange(min=0, min_open=True),
    metavar="GIB",
    help="Of a device.  [default: the card's]",
)
@click.option(
    "--engine", type=click.Choice(["ddp", "fsdp2"]), help="How they share it.  [default: by compute.config]"
)
@click.option(
    "--workers",
    type=click.IntRange(min=0),
    help="That share the films of label, rollouts, ddsampling, generate and eval, each on a device of its "
    "own; 0: as many as devices.  [default: compute.workers]",
)
@click.option(
    "--films", type=click.IntRange(min=1), help="Of the training split.  [default: drawn or published]"
)
@click.option(
    "--policy",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder with the policy's config.json.  [default: policy.path]",
)
@click.option("--shape", help="A published configuration in place of a folder, such as qwen2.5-vl-3b.")
@click.option(
    "--throughput", "changed", multiple=True, metavar="KEY=VALUE", help="Another assumption (repeatable)."
)
@click.option(
    "--calibrate",
    is_flag=True,
    help="Measure this machine's device for about two minutes and plan with that; of one RECIPE.",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option(
    "--into",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help=f"Write the table of several recipes into this page, between {MARKS.begin} and {MARKS.end}.",
)
def command(
    recipes: tuple[Path, ...],
    devices: tuple[int, ...] | None,
    changed: tuple[str, ...],
    as_json: bool,
    into: Path | None,
    **asked: Any,
) -> None:
    """Say what RECIPE needs: films, tokens, memory a device, processes and hours, stage by stage.

    Nothing is loaded or run: weights are counted in a model without numbers, memory follows from equations
    and hours from stated throughputs, which are printed with where they are from. What cannot fit into a
    device, or cannot be shared by so many processes, is refused with the key to change.

    Several RECIPEs, or several numbers of devices, give one table with a line each, and refuse nothing.
    """
    from radrl.plan import report

    throughputs = _throughputs(changed)
    if asked["calibrate"] and (len(recipes) > 1 or len(devices or ()) > 1):
        raise click.UsageError("--calibrate takes one RECIPE and one number of --devices")
    try:
        plans = [
            plan
            for recipe in recipes
            for plan in report.plans(recipe, devices or [None], changed=throughputs, **asked)
        ]
    except report.Unknown as error:
        raise click.UsageError(str(error)) from None
    if as_json:
        click.echo(json.dumps([report.as_json(one) for one in plans], indent=2))
    elif len(plans) > 1 or into is not None:
        _summary(plans, into)
    else:
        _show(plans[0])
    if len(plans) == 1 and plans[0].refusals:
        lines = [f"  {line}" for line in report.refusals_in_words(plans[0].refusals)]
        raise click.ClickException("\n".join([f"{plans[0].recipe} cannot be run so:", *lines]))


def _throughputs(changed: Sequence[str]) -> dict[str, float]:
    """KEY=VALUE as numbers."""
    found = {}
    for one in changed:
        key, _, value = one.partition("=")
        try:
            found[key] = float(value)
        except ValueError:
            raise click.BadParameter(f"{one!r} is no KEY=NUMBER", param_hint="--throughput") from None
    return found


def _show(plan: Plan) -> None:
    from rich.console import Console

    from radrl.plan import tables

    console = Console(highlight=False, markup=False, emoji=False)
    console.width = max(console.width, tables.WIDTH)
    for line in tables.head(plan):
        console.print(line, soft_wrap=True)
    for table in (tables.work(plan), tables.memory(plan)):
        console.print("", table)
    console.print("")
    for line in tables.assumptions(plan):
        console.print(line, style="dim")


def _summary(plans: Sequence[Plan], into: Path | None) -> None:
    from radrl.plan import tables

    table = tables.summary(plans)
    if into is None:
        click.echo(table)
        return
    MARKS.write(table, into)
    click.echo(f"{len(plans)} plans -> {into}", err=True)
