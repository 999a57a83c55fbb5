"""Options of `label` and `score`, and what they say of the file to read."""

from __future__ import annotations

import codecs
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
from tqdm import tqdm

from radrl.data.records import FORMATS
from radrl.observations import BLANK, NEGATIVE, POSITIVE, UNCERTAIN
from radrl.process.devices import ASKED

STD: Final = Path("-")
"""Standard input or output, as the command line names it."""

CLASSES: Final[dict[str, dict[int, int | str | None]]] = {
    "chexpert": {POSITIVE: 1, NEGATIVE: 0, UNCERTAIN: -1, BLANK: None},
    "chexbert": {POSITIVE: POSITIVE, NEGATIVE: NEGATIVE, UNCERTAIN: UNCERTAIN, BLANK: BLANK},
    "words": {POSITIVE: "positive", NEGATIVE: "negative", UNCERTAIN: "uncertain", BLANK: None},
}
"""How a class is written, by the name of the convention."""

Command = Callable[..., None]
Decorator = Callable[[Command], Command]

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
    click.option("--device", default="cpu", show_default=True, help=f"Where a CheXbert runs: {ASKED}."),
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

    return with_options(_READING, wrapped)


def model_options(command: Command) -> Command:
    """Give a command the options `model` and `device` of `radrl.commands.common.build_labeler`."""
    return with_options(_MODEL, command)


def classes_option(help: str) -> Decorator:
    """The option `classes`, a key of `CLASSES`."""
    return click.option(
        "--classes", type=click.Choice(list(CLASSES)), default="chexpert", show_default=True, help=help
    )


def with_options(options: Sequence[Decorator], command: Command) -> Command:
    """Give a command options, listed in their order."""
    for option in reversed(options):
        command = option(command)
    return command
