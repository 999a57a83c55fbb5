"""What both commands share: the file they read, its bad rows, the files they write, labelers, progress."""

from __future__ import annotations

import codecs
import functools
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click
import pyarrow as pa
from tqdm import tqdm

from radrl.data.records import ENDINGS, FORMATS, BadRow, Record, Records, format_of, kind_of, open_records
from radrl.data.writing import RowWriter, row_writer, whole_table
from radrl.labelers.base import Labeler
from radrl.labelers.build import build
from radrl.observations import BLANK, NEGATIVE, POSITIVE, UNCERTAIN

STD: Final = Path("-")
"""Standard input or output, as the command line names it."""

CLASSES: Final[dict[str, dict[int, int | str | None]]] = {
    "chexpert": {POSITIVE: 1, NEGATIVE: 0, UNCERTAIN: -1, BLANK: None},
    "chexbert": {POSITIVE: POSITIVE, NEGATIVE: NEGATIVE, UNCERTAIN: UNCERTAIN, BLANK: BLANK},
    "words": {POSITIVE: "positive", NEGATIVE: "negative", UNCERTAIN: "uncertain", BLANK: None},
}
"""How a class is written, by the name of the convention."""

_SHOWN: Final = 10
"""Bad rows that a message lists."""

Command = Callable[..., None]
Decorator = Callable[[Command], Command]
Judge = Callable[[Mapping[str, Any]], str | None]
"""Why a row cannot be used, or nothing when it can."""

_READING: Final[tuple[Decorator, ...]] = (
    click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)),
    click.option(
        "--from",
        "format",
        type=click.Choice(FORMATS),
        help="Format of FILE; by default its ending says it. Needed when FILE is -.",
    ),
    click.option("--encoding", default="utf-8", show_default=True, help="Of FILE, where it is text."),
    click.option(
        "--id",
        "ids",
        multiple=True,
        metavar="COLUMN",
        help="What identifies a row (repeatable): listed with bad rows and written beside the results.",
    ),
    click.option(
        "--skip-bad",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="BAD",
        help="Leave bad rows out, and list them with the reason in this table (BAD.csv, .jsonl, .parquet).",
    ),
    click.option("--force", is_flag=True, help="Replace output files that are there."),
    click.option("-q", "--quiet", is_flag=True, help="No progress and no counts on stderr."),
)

_MODEL: Final[tuple[Decorator, ...]] = (
    click.option(
        "--model",
        type=click.Path(exists=True, path_type=Path),
        help="A CheXbert's folder (chexbert.pth, vocab.txt), or what the study's stage labeler wrote.",
    ),
    click.option("--device", default="cpu", show_default=True, help="Where a CheXbert runs: cpu, cuda, mps."),
)


@dataclass(frozen=True, slots=True)
class Given:
    """What the command line says of the file to read.

    Args:
        file: the file, or `STD`.
        format: one of `FORMATS`; without one its ending says it.
        encoding: of text files.
        ids: the columns that identify a row.
        skip_bad: the table of bad rows; without one they are refused.
        force: whether files that are there may be replaced.
        quiet: whether stderr is for errors alone.
    """

    file: Path
    format: str | None
    encoding: str
    ids: tuple[str, ...]
    skip_bad: Path | None
    force: bool
    quiet: bool

    @property
    def name(self) -> str:
        """Of the file, in messages."""
        return "standard input" if self.file == STD else self.file.name

    def say(self, text: str) -> None:
        """Print a line on stderr."""
        if not self.quiet:
            click.echo(text, err=True)

    def progress(self, what: str, total: int | None, unit: str = "rows") -> tqdm[Any]:
        """A bar on stderr, where that is a terminal."""
        return tqdm(
            total=total,
            desc=what,
            unit=f" {unit}",
            leave=False,
            dynamic_ncols=True,
            disable=True if self.quiet else None,
        )


def reading_options(command: Command) -> Command:
    """Give a command the argument FILE and the options of reading it, as its argument `given`."""

    @functools.wraps(command)
    def wrapped(
        *,
        file: Path,
        format: str | None,
        encoding: str,
        ids: tuple[str, ...],
        skip_bad: Path | None,
        force: bool,
        quiet: bool,
        **own: Any,
    ) -> None:
        try:
            encoding = codecs.lookup(encoding).name
        except LookupError:
            raise click.BadParameter(f"Python knows no {encoding!r}", param_hint="--encoding") from None
        ids = tuple(dict.fromkeys(ids))
        command(given=Given(file, format, encoding, ids, skip_bad, force, quiet), **own)

    return _with(_READING, wrapped)


def model_options(command: Command) -> Command:
    """Give a command the options `model` and `device` of `build_labeler`."""
    return _with(_MODEL, command)


def _with(options: Iterable[Decorator], command: Command) -> Command:
    for option in reversed(list(options)):
        command = option(command)
    return command


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
    with tempfile.TemporaryDirectory(prefix="radrl-") as folder:
        spooled = Path(folder) / f"stdin.{format}"
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
            raise click.ClickException(f"{given.name} has no rows")
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
        click.UsageError: when it needs a model and none is given.
    """
    if name == "rules":
        return build(settings, name=name)
    if model is None:
        raise click.UsageError(f"--labeler {name} reads with a model: give its folder with --model")
    from radrl.labelers.chexbert.labeler import CheXbertLabeler

    if not (model / name).is_dir():
        return CheXbertLabeler.from_folder(model, name=name, device=device)
    return build({**settings, "device": device}, model, name=name)
