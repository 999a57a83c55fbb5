"""`radrl claims`: what several studies found of the papers' claims, in one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from radrl.pages.tables import Marks
from radrl.storage import table_files
from radrl.storage.whole_files import whole_file

if TYPE_CHECKING:
    from pandas import DataFrame

MARKS: Final = Marks.of_command("claims")

_EXAMPLES: Final = """\b
Examples:
  radrl claims docs/results/*-claims.csv
  radrl claims docs/results/*-claims.csv --into docs/results.md
  radrl claims docs/results/*-claims.csv --figure docs/results/claims.png"""

_GIVE: Final = "give NAME-claims.csv of `radrl study`"


@click.command("claims", epilog=_EXAMPLES)
@click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="FILE...",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option(
    "--into",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help=f"Write the table into this page, between {MARKS.begin} and {MARKS.end}.  [default: print it]",
)
@click.option(
    "--figure",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw all hypotheses into this PNG: effect, interval, verdict.",
)
def command(files: tuple[Path, ...], into: Path | None, figure: Path | None) -> None:
    """Gather the verdicts of several studies in one table.

    FILE is a NAME-claims.csv that `radrl study` wrote beside a study's page. The table has a line a claim and
    metric: verdict, effect with interval, p corrected within the claim's family, the least effect that the
    study could see, and the place in the paper; above the claims of a study stands its command.
    """
    found = _read(files)
    if figure is not None:
        _draw(found, figure)
    table = gathered(found)
    if into is None:
        click.echo(table)
        return
    MARKS.write(table, into)
    click.echo(f"{len(files)} studies -> {into}", err=True)


def gathered(found: DataFrame) -> str:
    """The table of several studies, with how many verdicts there are of each kind.

    Args:
        found: the lines of their NAME-claims.csv, below one another.

    Returns:
        Markdown.
    """
    from radrl.studies.claims.page import EXPLAINED, summary, verdicts

    return "\n\n".join([summary(found), verdicts(found, commands=True), EXPLAINED])


def _read(files: tuple[Path, ...]) -> DataFrame:
    """The lines of all files, by their place in the papers."""
    import pandas as pd

    tables = []
    for file in files:
        own = table_files.read_csv(file, mend=_GIVE)
        if lacking := [name for name in ("where", "verdict") if name not in own]:
            raise click.ClickException(f"{file} has no column {' and '.join(lacking)}: {_GIVE}")
        tables.append(own)
    return pd.concat(tables, ignore_index=True).sort_values("where", kind="stable")


def _draw(found: DataFrame, figure: Path) -> None:
    from radrl.pages.figures import png
    from radrl.studies.claims.figure import forest

    figure.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(figure) as stream:
        stream.write(png(forest(found)))
    click.echo(f"{len(found)} hypotheses -> {figure}", err=True)
