"""`radrl label`: a table of reports in, the same table with 14 columns of labels out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

import click
import pyarrow as pa

from radrl.commands.common import (
    Tally,
    bad_table,
    build_labeler,
    judged,
    opened,
    require_columns,
    require_outputs,
    table_at,
    text_problem,
)
from radrl.commands.options import CLASSES, STD, Given, classes_option, model_options, reading_options
from radrl.data.records import FORMATS, BadRow, Record, Records, format_of
from radrl.data.writing import RowWriter, holds_bytes
from radrl.labelers import Labeler, says_nothing
from radrl.observations import OBSERVATIONS
from radrl.parts.find import names

_NUMBER: Final = "row"
"""The column of row numbers, where none of the file's own is kept."""

_EXAMPLES: Final = """\b
Examples:
  radrl label reports.csv > labels.csv
  radrl label reports.csv.gz --column impression -o labels.parquet
  radrl label outputs.jsonl --labels-only --id study_id -o labels.csv
  radrl label mimic.csv --skip-bad bad.csv -o labels.csv
  radrl label reports.parquet --labeler chexbert --model chexbert/ --device cuda -o labels.parquet
  zcat reports.jsonl.gz | radrl label - --from jsonl --to jsonl | jq .Edema"""


@dataclass(frozen=True, slots=True)
class _Plan:
    """What becomes of a row.

    Args:
        column: holds the report.
        kept: columns of the file that are written; with none the row's number is.
        labels: names of the 14 columns, in the order of the observations.
        classes: how each class is written.
    """

    column: str
    kept: Sequence[str]
    labels: Sequence[str]
    classes: Mapping[int, int | str | None]

    def schema(self, records: Records) -> pa.Schema:
        """The columns that are written and their types."""
        fields = records.fields
        own = [(name, fields[name]) for name in self.kept] or [(_NUMBER, pa.int64())]
        words = any(isinstance(said, str) for said in self.classes.values())
        return pa.schema(own + [(name, pa.string() if words else pa.int8()) for name in self.labels])

    def labelled(self, rows: Sequence[Record], labeler: Labeler) -> list[dict[str, Any]]:
        """The rows as they are written."""
        labels = labeler.label([row.values[self.column] for row in rows]).tolist()
        return [
            self._own(row) | dict(zip(self.labels, [self.classes[said] for said in of_row], strict=True))
            for row, of_row in zip(rows, labels, strict=True)
        ]

    def _own(self, row: Record) -> dict[str, Any]:
        if not self.kept:
            return {_NUMBER: row.number}
        return {name: row.values[name] for name in self.kept if name in row.values}


@click.command("label", epilog=_EXAMPLES)
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The table to write, its format by its ending; by default standard output.",
)
@click.option("--to", type=click.Choice(FORMATS), help="Format on standard output.  [default: csv]")
@click.option("--column", default="report", show_default=True, help="The column that holds the reports.")
@click.option(
    "--labels-only", is_flag=True, help="Of FILE's columns keep those of --id; without, number rows."
)
@click.option("--prefix", default="", metavar="TEXT", help="Begins the names of the 14 columns.")
@classes_option(
    "chexpert: 1 positive, 0 negative, -1 uncertain, empty where not mentioned. "
    "chexbert: 1 positive, 2 negative, 3 uncertain, 0. words: positive, negative, uncertain, empty."
)
@click.option(
    "--labeler",
    type=click.Choice(names("labeler")),
    default="rules",
    show_default=True,
    help="Who reads the reports; a CheXbert needs --model.",
)
@model_options
@click.option(
    "--alternatives",
    type=click.Choice(("uncertain", "positive")),
    default="uncertain",
    show_default=True,
    help='What the rules make of "A or B"; uncertain is CheXpert\'s reading.',
)
@click.option(
    "--other-findings/--no-other-findings",
    default=True,
    show_default=True,
    help="Whether emphysema, scoliosis and the like withhold No Finding by the rules, as in CheXpert's code.",
)
@click.option(
    "--batch-rows",
    type=click.IntRange(min=1),
    default=2048,
    show_default=True,
    help="Rows held and labelled at once.",
)
@reading_options
def command(
    given: Given,
    out: Path | None,
    to: str | None,
    column: str,
    labels_only: bool,
    prefix: str,
    classes: str,
    labeler: str,
    model: Path | None,
    device: str,
    alternatives: str,
    other_findings: bool,
    batch_rows: int,
) -> None:
    """Read the 14 CheXpert observations out of the reports in FILE (- is standard input).

    FILE is CSV, TSV, JSON lines or Parquet, text also with .gz; it is read twice, first to find bad rows, and
    never held as a whole. All its columns are kept, and the 14 follow under CheXpert's names.

    A bad row has other than the header's number of fields, is no JSON object, has bytes of another encoding,
    or has no text: null, or no such key. With a bad row nothing is written, unless --skip-bad. An empty text,
    and one of digits, "nan", "NaT" or "NA" alone, is no report; how many there are is said at the end.
    """
    out = None if out == STD else out
    if out is not None and to is not None:
        raise click.UsageError("--to is for standard output; the ending of -o says its format")
    require_outputs({"-o": out, "--skip-bad": given.skip_bad}, force=given.force, tables=("-o", "--skip-bad"))
    rules = {"alternatives": alternatives, "other_findings": other_findings}
    reader = build_labeler(labeler, model, device, {"name": labeler, "rules": rules})
    with opened(given) as records:
        needed = list(dict.fromkeys([column, *given.ids])) if labels_only else None
        tally = _survey(given, records, column, needed)
        kept = list(given.ids) if labels_only else list(records.fields)
        plan = _Plan(column, kept, [prefix + name for name in OBSERVATIONS], CLASSES[classes])
        format = to or (format_of(out) if out else None) or "csv"
        _require_writable(records, plan, format)
        with ExitStack() as stack:
            take_bad = stack.enter_context(bad_table(given, records))
            table = stack.enter_context(table_at(out, format, plan.schema(records)))
            bar = stack.enter_context(given.progress("labelling", tally.rows))
            empty = 0
            for batch in _batches(judged(records, partial(text_problem, column=column), needed), batch_rows):
                empty += _label(batch, reader, plan, table, take_bad)
                bar.update(len(batch))
    given.say(_summary(given, tally, empty, out))


def _survey(given: Given, records: Records, column: str, needed: Sequence[str] | None) -> Tally:
    """Count the rows and refuse what cannot be labelled, before anything is."""
    named = dict.fromkeys(given.ids, "--id") | {column: "--column"}
    if records.format != "jsonl":
        require_columns(records, named, text=[column])
    tally = Tally()
    with given.progress("checking", None) as bar:
        for row in judged(records, partial(text_problem, column=column), needed):
            tally.add(row)
            bar.update()
    if records.fields:
        require_columns(records, named, text=[column])
    tally.require_good(given)
    return tally


def _require_writable(records: Records, plan: _Plan, format: str) -> None:
    fields = records.fields
    if twice := sorted({*plan.kept} & {*plan.labels}):
        raise click.UsageError(
            f"the file has columns {', '.join(twice)}: --prefix names the new ones otherwise, "
            "--labels-only leaves the old ones out"
        )
    if raw := [name for name in plan.kept if format != "parquet" and holds_bytes(fields[name])]:
        raise click.UsageError(
            f"column {raw[0]!r} holds bytes, which {format} cannot: write Parquet, or leave it out "
            "with --labels-only and --id"
        )


def _batches(rows: Iterable[Record | BadRow], size: int) -> Iterator[list[Record | BadRow]]:
    rows = iter(rows)
    while batch := list(islice(rows, size)):
        yield batch


def _label(
    batch: Sequence[Record | BadRow],
    labeler: Labeler,
    plan: _Plan,
    table: RowWriter,
    take_bad: Callable[[BadRow], None],
) -> int:
    """Write a batch; returns how many of its texts are no report."""
    for row in batch:
        if isinstance(row, BadRow):
            take_bad(row)
    good = [row for row in batch if isinstance(row, Record)]
    table.write(plan.labelled(good, labeler))
    return sum(says_nothing(row.values[plan.column]) for row in good)


def _summary(given: Given, tally: Tally, empty: int, out: Path | None) -> str:
    said = f"labelled {tally.rows - tally.bad:,} reports"
    if empty:
        said += f", {empty:,} of them no report"
    if out is not None:
        said += f" -> {out}"
    return said + (f"; {tally.bad:,} bad rows -> {given.skip_bad}" if given.skip_bad else "")
