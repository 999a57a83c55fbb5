"""What `radrl score` writes besides its table: all figures, a row a report, the bad rows."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from radrl.commands.common import bad_table, require_outputs, table_at
from radrl.commands.explaining import Take, explanation, is_table
from radrl.commands.options import CLASSES, STD, Command, Decorator, Given, classes_option, with_options
from radrl.commands.pairs import Columns, Pairs, Survey
from radrl.commands.result import ReportTable, Result, as_text
from radrl.commands.run import Part, Scoring
from radrl.data.records import BadRow, Record, Records
from radrl.data.writing import RowWriter
from radrl.storage.whole_files import whole_file

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
    click.option(
        "--explain",
        type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
        metavar="OUT",
        help="Of weighted_findings, a row for each finding matched, missed or false, with its cost and the "
        "words it was read from (OUT.csv, .jsonl, .parquet), or in words (OUT.txt; - is standard output, "
        "before the table).",
    ),
    click.option("--with-texts", is_flag=True, help="The reports themselves in --per-report too."),
)


@dataclass(frozen=True, slots=True)
class Outputs:
    """What the command line says of the files to write.

    Args:
        json: of all figures; `STD` is standard output.
        per_report: of the rows per report.
        explain: of where weighted_findings comes from, report by report.
        classes: how these write labels, a key of `CLASSES`.
        with_texts: whether these hold the reports themselves.
    """

    json: Path | None
    per_report: Path | None
    explain: Path | None
    classes: str
    with_texts: bool

    def require(self, given: Given) -> None:
        """Refuse what cannot be written."""
        if self.json == self.explain == STD:
            raise click.UsageError("--json and --explain cannot both go to standard output")
        tables = {"--per-report": self.per_report, "--skip-bad": given.skip_bad}
        others = {"--json": self.json}
        (tables if is_table(self.explain) else others)["--explain"] = self.explain
        require_outputs(tables | others, force=given.force, tables=list(tables))

    def made(self, given: Given) -> list[Path]:
        """The files that are written."""
        paths = (self.json, self.per_report, self.explain, given.skip_bad)
        return [path for path in paths if path is not None and path != STD]

    @contextmanager
    def opened(
        self, given: Given, records: Records, columns: Columns, scoring: Scoring, found: Survey
    ) -> Iterator[Written]:
        """Every file, put in its place once all are whole.

        Args:
            given: for the table of bad rows.
            records: the file that is read.
            columns: its columns.
            scoring: which metrics count.
            found: of its first reading.

        Yields:
            What takes rows and figures.
        """
        with ExitStack() as stack:
            bad = stack.enter_context(bad_table(given, records))
            own = ["row", *columns.own]
            explain = stack.enter_context(explanation(self.explain, scoring.scorers, own, found.types))
            table = ReportTable(scoring, found.types, CLASSES[self.classes], words=self.classes == "words")
            yield Written(self, columns, bad, table, explain, stack)


class Written:
    """Files while they are written.

    Args:
        outputs: which there are.
        columns: of the file that is read.
        bad: takes the bad rows.
        table: of the rows per report.
        explain: takes the pairs that are to be explained.
        stack: closes the files.
    """

    def __init__(
        self,
        outputs: Outputs,
        columns: Columns,
        bad: Callable[[BadRow], None],
        table: ReportTable,
        explain: Take,
        stack: ExitStack,
    ) -> None:
        self._outputs, self._columns, self._bad, self._table = outputs, columns, bad, table
        self._explain, self._stack = explain, stack
        self._writer: RowWriter | None = None

    def row(self, row: Record | BadRow) -> None:
        """List a row if it is a bad one."""
        if isinstance(row, BadRow):
            self._bad(row)

    def part(self, pairs: Pairs, part: Part) -> None:
        """Write the rows of some reports."""
        self._explain(pairs)
        if self._outputs.per_report is None:
            return
        own: dict[str, Sequence[Any]] = dict(pairs.own)
        if self._outputs.with_texts:
            own |= {self._columns.reference: pairs.references, self._columns.hypothesis: pairs.hypotheses}
        if self._writer is None:
            schema = self._table.schema(own, part)
            self._writer = self._stack.enter_context(table_at(self._outputs.per_report, None, schema))
        self._writer.write(self._table.rows(own, part))

    def figures(self, result: Result) -> None:
        """Write all figures."""
        if self._outputs.json and self._outputs.json != STD:
            self._stack.enter_context(whole_file(self._outputs.json)).write(as_text(result).encode())


def output_options(command: Command) -> Command:
    """Give a command the options of `Outputs`, as its argument `outputs`."""

    @functools.wraps(command)
    def wrapped(
        *,
        json_: Path | None,
        per_report: Path | None,
        explain: Path | None,
        classes: str,
        with_texts: bool,
        **own: Any,
    ) -> None:
        command(outputs=Outputs(json_, per_report, explain, classes, with_texts), **own)

    return with_options(_OPTIONS, wrapped)
