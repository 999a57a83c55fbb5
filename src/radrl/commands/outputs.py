"""What `radrl score` writes besides its table: all figures, a row a report, the bad rows."""

from __future__ import annotations

import functools
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

import click

from radrl.commands.common import bad_table, require_outputs, table_at
from radrl.commands.options import CLASSES, STD, Command, Decorator, Given, classes_option, with_options
from radrl.commands.pairs import Columns, Pairs
from radrl.commands.result import Result, as_text, report_rows, report_schema
from radrl.data.records import Records
from radrl.storage.whole_files import whole_file

_ROWS: Final = 4096
"""Rows per report written at once."""

_OPTIONS: Final[tuple[Decorator, ...]] = (
    click.option(
        "--json",
        "json_",
        type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
        metavar="OUT",
        help="All figures unrounded, per label, settings, versions. - is standard output, in the table's "
        "stead.",
    ),
    click.option(
        "--per-report",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="OUT",
        help="A row a report: number, --id, --patient, own scores, labels of both sides (ending as of FILE).",
    ),
    classes_option("How --per-report writes labels; see radrl label --help."),
    click.option("--with-texts", is_flag=True, help="The reports themselves in --per-report too."),
)


@dataclass(frozen=True, slots=True)
class Outputs:
    """What the command line says of the files to write.

    Args:
        json: of all figures; `STD` is standard output.
        per_report: of the rows per report.
        classes: how these write labels, a key of `CLASSES`.
        with_texts: whether these hold the reports themselves.
    """

    json: Path | None
    per_report: Path | None
    classes: str
    with_texts: bool

    def require(self, given: Given) -> None:
        """Refuse what cannot be written."""
        tables = {"--per-report": self.per_report, "--skip-bad": given.skip_bad}
        require_outputs(tables | {"--json": self.json}, force=given.force, tables=list(tables))

    def made(self, given: Given) -> list[Path]:
        """The files that are written."""
        paths = (self.json, self.per_report, given.skip_bad)
        return [path for path in paths if path is not None and path != STD]

    def write(self, given: Given, records: Records, columns: Columns, pairs: Pairs, result: Result) -> None:
        """Write every file, and put them in their places once all are whole.

        Args:
            given: for the table of bad rows.
            records: the file that was read.
            columns: its columns.
            pairs: its reports.
            result: their scores.
        """
        with ExitStack() as stack:
            if given.skip_bad:
                take = stack.enter_context(bad_table(given, records))
                for row in pairs.bad:
                    take(row)
            if self.json and self.json != STD:
                stack.enter_context(whole_file(self.json)).write(as_text(result).encode())
            if self.per_report:
                own = dict(pairs.own)
                if self.with_texts:
                    own |= {columns.reference: pairs.references, columns.hypothesis: pairs.hypotheses}
                schema = report_schema(own, pairs.types, result, words=self.classes == "words")
                table = stack.enter_context(table_at(self.per_report, None, schema))
                rows = report_rows(own, result, CLASSES[self.classes])
                while batch := list(islice(rows, _ROWS)):
                    table.write(batch)


def output_options(command: Command) -> Command:
    """Give a command the options of `Outputs`, as its argument `outputs`."""

    @functools.wraps(command)
    def wrapped(
        *, json_: Path | None, per_report: Path | None, classes: str, with_texts: bool, **own: Any
    ) -> None:
        command(outputs=Outputs(json_, per_report, classes, with_texts), **own)

    return with_options(_OPTIONS, wrapped)
