"""Labels of many reports, read shard by shard by as many workers as params.yaml says.

A labeler that computes with floats reads the reports of a shard in batches, on which its sums depend in
their last digits. Shards are cut whatever the workers, and none remembers the labels of another: labels are
the same bytes whoever reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow.dataset as ds

from radrl.data.ranges import Ranges, Rows, ranges
from radrl.labelers.base import Labeler, LabelMatrix
from radrl.labelers.build import build
from radrl.labelers.cached import OnDemand, Remembering
from radrl.mapping.base import Work
from radrl.mapping.engines import mapped

OF_FILES: Final = 4096
"""Rows of a shard that workers read from files by themselves."""
OF_TEXTS: Final = 512
"""Texts of a shard that is sent to a worker."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads labels, and where.

    Args:
        settings: the section `labeler` of params.yaml.
        models: what the stage `labeler` wrote.
        name: which labeler; nothing for `labeler.name`.
        device: where it computes, as params.yaml's `device`.
        threads: of torch in each worker; nothing leaves them as they are.
        compute: the section `compute`; nothing for this process alone.
    """

    settings: Mapping[str, Any]
    models: Path | None = None
    name: str | None = None
    device: str = "cpu"
    threads: int | None = None
    compute: Mapping[str, Any] | None = None

    def made(self) -> Labeler:
        """The labeler, in this process and for one shard's labels at a time."""
        return build(
            self.settings,
            self.models,
            name=self.name,
            device=self.device,
            threads=self.threads,
            remembers=False,
        )

    def of_rows(self, rows: ds.Dataset, column: str) -> Iterator[LabelMatrix]:
        """Read labels of a data set's texts, of which a worker holds one shard's.

        Args:
            rows: the data set, whose files every worker sees.
            column: of the texts.

        Yields:
            Labels in the order of the rows, shape (n, 14), some at a time.
        """
        open_ = partial(_with_rows, self.made, rows, column)
        return self._mapped(Work(f"labels of {column}", open_, _of_rows), ranges(rows, OF_FILES))

    def knowing(self, texts: Sequence[str]) -> Remembering:
        """A labeler of this process that knows the labels of texts which are in memory.

        Args:
            texts: reports, each distinct one of which is read once.

        Returns:
            The labeler; it loads its model when it is asked for another text.
        """
        labeler = OnDemand(self.name or self.settings["name"], self.made)
        return Remembering(labeler, self.of_texts(texts))

    def of_texts(self, texts: Sequence[str]) -> dict[str, LabelMatrix]:
        """Read labels of texts that are in memory.

        Args:
            texts: reports, each distinct one of which is read once.

        Returns:
            By text its labels, shape (14,).
        """
        distinct = list(dict.fromkeys(texts))
        shards = [distinct[start : start + OF_TEXTS] for start in range(0, len(distinct), OF_TEXTS)]
        work = Work(f"labels by {self.name or self.settings['name']}", partial(_alone, self.made), _of_texts)
        found = [row for labels in self._mapped(work, shards) for row in labels]
        return dict(zip(distinct, found, strict=True))

    def _mapped(self, work: Work[Any, Any, LabelMatrix], shards: Sequence[Any]) -> Iterator[LabelMatrix]:
        return mapped(work, shards, self.compute, device=self.device)


@dataclass(frozen=True, slots=True)
class _RowsReader:
    """What a worker reads its rows with."""

    labeler: Labeler
    rows: Ranges
    column: str


def _with_rows(
    make: Callable[[], Labeler], rows: ds.Dataset, column: str
) -> AbstractContextManager[_RowsReader]:
    return nullcontext(_RowsReader(make(), Ranges(rows), column))


def _of_rows(reader: _RowsReader, part: Rows) -> LabelMatrix:
    return reader.labeler.label(reader.rows.read(part, reader.column))


def _alone(make: Callable[[], Labeler]) -> AbstractContextManager[Labeler]:
    return nullcontext(make())


def _of_texts(labeler: Labeler, texts: Sequence[str]) -> LabelMatrix:
    return labeler.label(texts)
