"""What `radrl score` writes besides its table: all figures, a row a report, the bad rows."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import click
import pyarrow as pa

from radrl.commands.common import bad_table, require_outputs, table_at
from radrl.commands.options import CLASSES, STD, Command, Decorator, Given, classes_option, with_options
from radrl.commands.pairs import Columns, Pairs, Survey
from radrl.commands.result import ReportTable, Result, as_text
from radrl.commands.run import Part, Scoring
from radrl.data.records import BadRow, Record, Records
from radrl.data.writing import RowWriter
from radrl.scoring import Scorer
from radrl.scoring.weighted_findings.explain import COLUMNS, lines, rows
from radrl.storage.whole_files import whole_file

if TYPE_CHECKING:
    from radrl.scoring.weighted_findings.score import WeightedFindings

FAMILY: Final = "weighted_findings"
WORDS: Final = ".txt"
"""Ending of a file in words; others are tables."""

_NUMBERS: Final = ("weight", "cost")

Take = Callable[[Pairs], None]


def explaining(scorers: Mapping[str, Scorer]) -> WeightedFindings:
    """The scorer that explains.

    Args:
        scorers: by family, those that are asked for.

    Returns:
        That of `FAMILY`.

    Raises:
        click.BadParameter: when it is not asked for.
    """
    if FAMILY not in scorers:
        said = f"explains {FAMILY}, which --metrics or eval.families leave out; name it there too"
        raise click.BadParameter(said, param_hint="--explain")
    return cast("WeightedFindings", scorers[FAMILY])


def is_table(path: Path | None) -> bool:
    """Whether an explanation is written as rows."""
    return path is not None and path != STD and path.suffix.lower() != WORDS


@contextmanager
def explanation(
    path: Path | None, scorers: Mapping[str, Scorer], own: Sequence[str], types: Mapping[str, pa.DataType]
) -> Iterator[Take]:
    """Where explanations go.

    Args:
        path: a table, a text (`WORDS`), standard output (`STD`), or nothing.
        scorers: by family.
        own: the columns that go with a report, its row first.
        types: theirs; by default text.

    Yields:
        What takes some pairs.
    """
    if path is None:
        yield lambda pairs: None
        return
    scorer = explaining(scorers)
    if not is_table(path):
        if path == STD:
            yield lambda pairs: click.echo(_text(scorer, pairs), nl=False)
            return
        with whole_file(path) as stream:
            yield lambda pairs: cast(None, stream.write(_text(scorer, pairs).encode()))
        return
    columns = {name: types.get(name, pa.string()) for name in own} | {"score": pa.float64()}
    columns |= {name: pa.float64() if name in _NUMBERS else pa.string() for name in COLUMNS}
    with table_at(path, None, pa.schema(list(columns.items()))) as table:
        yield lambda pairs: table.write([row for some in _rows(scorer, pairs) for row in some])


def _rows(scorer: WeightedFindings, pairs: Pairs) -> Iterator[list[dict[str, Any]]]:
    for i, (reference, hypothesis) in enumerate(zip(pairs.references, pairs.hypotheses, strict=True)):
        found = scorer.compare(reference, hypothesis)
        own = {name: values[i] for name, values in pairs.own.items()} | {"score": round(found.score, 6)}
        yield [own | row for row in rows(found, reference, hypothesis)]


def _text(scorer: WeightedFindings, pairs: Pairs) -> str:
    said = []
    for i, (reference, hypothesis) in enumerate(zip(pairs.references, pairs.hypotheses, strict=True)):
        head = ", ".join(f"{name} {values[i]}" for name, values in pairs.own.items())
        first, *rest = lines(scorer.compare(reference, hypothesis), reference, hypothesis)
        said.append("\n".join([f"{head}: {first}", *rest, ""]))
    return "".join(f"{one}\n" for one in said)


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

    def written_files(self, given: Given) -> list[Path]:
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
            own = ["row", *columns.carried_columns]
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
