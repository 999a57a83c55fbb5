"""`radrl score --explain`: what each pair's weighted_findings comes from, as rows or in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol, cast

import click
import pyarrow as pa

from radrl.commands.common import table_at
from radrl.commands.options import STD
from radrl.commands.pairs import Pairs
from radrl.scoring.base import Scorer
from radrl.scoring.weighted_findings.explain import COLUMNS, lines, rows
from radrl.scoring.weighted_findings.matching import Comparison
from radrl.storage.whole_files import whole_file

FAMILY: Final = "weighted_findings"
WORDS: Final = ".txt"
"""Ending of a file in words; others are tables."""

_NUMBERS: Final = ("weight", "cost")

Take = Callable[[Pairs], None]


class Explains(Protocol):
    """A scorer that can say what a score comes from."""

    def compare(self, reference: str, hypothesis: str) -> Comparison:
        """Compare two reports."""
        ...


def explaining(scorers: Mapping[str, Scorer]) -> Explains:
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
    return cast(Explains, scorers[FAMILY])


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


def _rows(scorer: Explains, pairs: Pairs) -> Iterator[list[dict[str, Any]]]:
    for i, (reference, hypothesis) in enumerate(zip(pairs.references, pairs.hypotheses, strict=True)):
        found = scorer.compare(reference, hypothesis)
        own = {name: values[i] for name, values in pairs.own.items()} | {"score": round(found.score, 6)}
        yield [own | row for row in rows(found, reference, hypothesis)]


def _text(scorer: Explains, pairs: Pairs) -> str:
    said = []
    for i, (reference, hypothesis) in enumerate(zip(pairs.references, pairs.hypotheses, strict=True)):
        head = ", ".join(f"{name} {values[i]}" for name, values in pairs.own.items())
        first, *rest = lines(scorer.compare(reference, hypothesis), reference, hypothesis)
        said.append("\n".join([f"{head}: {first}", *rest, ""]))
    return "".join(f"{one}\n" for one in said)
