"""What `label` and `score` share: the file they read, its bad rows, the files they write, labelers."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click
import pyarrow as pa

from radrl.commands.options import STD, Given
from radrl.data.records import ENDINGS, FORMATS, BadRow, Record, Records, format_of, kind_of, open_records
from radrl.data.writing import RowWriter, row_writer, whole_table
from radrl.labelers import Labeler, load, needs_model
from radrl.process.devices import DeviceError
from radrl.storage.whole_files import temporary_folder

_SHOWN: Final = 10
"""Bad rows that a message lists."""

Judge = Callable[[Mapping[str, Any]], str | None]
"""Why a row cannot be used, or nothing when it can."""


@contextmanager
def opened(given: Given) -> Iterator[Records]:
    """The file of rows; what comes through a pipe is put into a temporary file first, since it is read twice.

    Args:
        given: what the command line says.

    Yields:
        The rows.

    Raises:
        click.UsageError: when the format is not known.
    """
    format = given.format or format_of(given.file)
    if format is None:
        said = given.name + (
            " has no ending" if given.file == STD else f" ends in none of {', '.join(ENDINGS)}"
        )
        if given.file.suffix.lower() == ".json":
            said += " (`jq -c '.[]'` makes JSON lines of a list)"
        raise click.UsageError(f"{said}; say --from {'|'.join(FORMATS)}")
    if given.file.is_file():
        yield open_records(given.file, format, encoding=given.encoding)
        return
    with temporary_folder() as folder:
        spooled = folder / f"stdin.{format}"
        with spooled.open("wb") as stream:
            if given.file == STD:
                shutil.copyfileobj(sys.stdin.buffer, stream)
            else:
                with given.file.open("rb") as pipe:
                    shutil.copyfileobj(pipe, stream)
        yield open_records(spooled, format, encoding=given.encoding)


def require_columns(records: Records, columns: Mapping[str, str], *, text: Sequence[str] = ()) -> None:
    """Refuse columns that the file has not.

    Args:
        records: a file whose columns are known; those of JSON lines are once they have been read.
        columns: by column, the option that names it.
        text: those that must hold text, which a Parquet file says of the whole column.

    Raises:
        click.BadParameter: naming option, column and what there is.
    """
    fields = records.fields
    for name, option in columns.items():
        if name not in fields:
            there = ", ".join(fields) or "none"
            raise click.BadParameter(f"there is no column {name!r}, there are {there}", param_hint=option)
        if name in text and records.format == "parquet" and not _is_text(fields[name]):
            raise click.BadParameter(f"column {name!r} holds {fields[name]}, not text", param_hint=option)


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def text_problem(values: Mapping[str, Any], column: str) -> str | None:
    """Why a row's column is no text, or nothing when it is; an empty text is one."""
    value = values.get(column)
    if isinstance(value, str):
        return None
    if column not in values:
        return f"no {column!r}"
    return f"{column!r} is {kind_of(value)}" + ("" if value is None else ", not text")


def judged(records: Records, judge: Judge, columns: Sequence[str] | None = None) -> Iterator[Record | BadRow]:
    """The rows, those that the judge refuses being bad rows too."""
    for row in records.rows(columns):
        problem = None if isinstance(row, BadRow) else judge(row.values)
        if isinstance(row, Record) and problem:
            yield BadRow(row.number, row.line, problem, row.values)
        else:
            yield row


@dataclass(slots=True)
class Tally:
    """How many rows there are, and how many of them are bad, with the first of those."""

    rows: int = 0
    bad: int = 0
    first: list[BadRow] = field(default_factory=list)

    def add(self, row: Record | BadRow) -> None:
        """Count a row."""
        self.rows += 1
        if isinstance(row, BadRow):
            self.bad += 1
            if len(self.first) < _SHOWN:
                self.first.append(row)

    def require_good(self, given: Given) -> None:
        """Refuse a file without rows or without a good one, and bad rows unless they are to be left out.

        Args:
            given: what the command line says.

        Raises:
            click.ClickException: listing the first bad rows.
        """
        if not self.rows:
            raise click.ClickException(f"{given.name} has no rows: is it the right file?")
        if self.bad == self.rows:
            mend = "All are bad: is it the right column, format and encoding?"
        elif self.bad and given.skip_bad is None:
            mend = "Mend them, or leave them out with --skip-bad BAD.csv."
        else:
            return
        lines = [f"  {row}" for row in self.first]
        if self.bad > len(lines):
            lines.append(f"  and {self.bad - len(lines):,} more")
        some = f"{given.name}: {self.bad:,} of {self.rows:,} rows cannot be used:"
        raise click.ClickException("\n".join([some, *lines, f"{mend} Nothing was written."]))


@contextmanager
def bad_table(given: Given, records: Records) -> Iterator[Callable[[BadRow], None]]:
    """Where bad rows are listed: number, line, problem and the columns that identify a row.

    Args:
        given: what the command line says; without a table a bad row raises.
        records: for the types of the columns.

    Yields:
        What takes a bad row.
    """
    if given.skip_bad is None:
        yield _changed
        return
    names = [("row", pa.int64()), ("line", pa.int64()), ("problem", pa.string())]
    schema = pa.schema(names + [(name, records.fields[name]) for name in given.ids])
    with table_at(given.skip_bad, None, schema) as table:

        def take(row: BadRow) -> None:
            own = {name: row.values[name] for name in given.ids if name in row.values}
            table.write([own | {"row": row.number, "line": row.line, "problem": row.problem}])

        yield take


def _changed(row: BadRow) -> None:
    raise click.ClickException(f"{row}; it was not bad before: who writes to the file?")


@contextmanager
def table_at(path: Path | None, format: str | None, schema: pa.Schema) -> Iterator[RowWriter]:
    """A table in a file, whole or not at all, or on standard output.

    Args:
        path: the file; nothing for standard output.
        format: by default what the file's ending says.
        schema: its columns.

    Yields:
        What takes the rows.
    """
    format = format or format_of(path or STD) or "csv"
    with ExitStack() as stack:
        if path is not None:
            yield stack.enter_context(whole_table(path, format, schema))
        elif format == "parquet":  # ended early it would look whole, so it waits for its end
            spool = stack.enter_context(tempfile.TemporaryFile())
            with row_writer(spool, format, schema) as table:
                yield table
            spool.seek(0)
            shutil.copyfileobj(spool, sys.stdout.buffer)
        else:
            yield stack.enter_context(row_writer(sys.stdout.buffer, format, schema))
            sys.stdout.buffer.flush()


def require_outputs(paths: Mapping[str, Path | None], *, force: bool, tables: Sequence[str] = ()) -> None:
    """Refuse to write where something is, where nothing can be, or one file twice.

    Args:
        paths: by option.
        force: whether what is there may be replaced.
        tables: the options whose file's ending says its format.

    Raises:
        click.BadParameter: naming option and mend.
    """
    seen: set[Path] = set()
    for option, path in paths.items():
        if path is None or path == STD:
            continue
        problem = None
        if option in tables and format_of(path) is None:
            problem = f"{path} ends in none of {', '.join(ENDINGS)}"
        elif path.exists() and not force:
            problem = f"{path} is there; --force replaces it"
        elif not path.parent.is_dir():
            problem = f"there is no folder {path.parent}; make it first"
        elif path.resolve() in seen:
            problem = f"{path} is named twice"
        if problem:
            raise click.BadParameter(problem, param_hint=option)
        seen.add(path.resolve())


def build_labeler(name: str, model: Path | None, device: str, settings: Mapping[str, Any]) -> Labeler:
    """Build a labeler.

    Args:
        name: of the labeler.
        model: its weights or their folder, or a folder with one named as the labeler.
        device: where the model runs.
        settings: the section `labeler` of params.yaml.

    Returns:
        The labeler.

    Raises:
        click.UsageError: when it needs a model and none is given, or the device is not there.
    """
    if model is None and needs_model(name, settings):
        raise click.UsageError(f"--labeler {name} reads with a model: give its folder with --model")
    try:
        return load(name, settings, model=model, device=device)
    except DeviceError as error:
        raise click.BadParameter(str(error), param_hint="--device") from None
