"""Who writes the reports: a policy behind its engine, asked as its arm's stage generate asks it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from radrl.reporting.arms import Asked
from radrl.reports.output import report_of

if TYPE_CHECKING:
    from radrl.policy.writer import Writer


@dataclass(frozen=True, slots=True)
class Report:
    """What a policy wrote on a sample.

    Args:
        text: the report.
        output: all it wrote; of an arm that is asked for reasoning more than the report.
        ended: whether the policy ended it; else it was cut off at `max_new_tokens`.
    """

    text: str
    output: str
    ended: bool


class Reporter:
    """A policy that is open; close it, or use it as a context.

    Args:
        writer: behind its engine.
        asked: how it is asked.

    Attributes:
        device: what computes, for a person.
    """

    def __init__(self, writer: Writer, asked: Asked) -> None:
        self._writer, self._asked = writer, asked
        self._written = 0
        self.device = writer.device

    @classmethod
    def open(cls, folder: Path, asked: Asked) -> Reporter:
        """Load a policy.

        Args:
            folder: the policy's.
            asked: how it is asked.

        Raises:
            FileNotFoundError, ValueError: as `radrl.policy.folder.load`.
        """
        from transformers.utils import logging

        from radrl.policy.engines import open_writer

        logging.disable_progress_bar()  # of weights that load in a second
        writer = open_writer(
            asked.engine, folder, dtype=asked.dtype, device=asked.device, threads=asked.threads
        )
        return cls(writer, asked)

    def write(self, films: Sequence[Sequence[bytes]], *, first: int | None = None) -> list[Report]:
        """Write on samples; draws, if any, follow from the seed and a sample's place among all.

        Args:
            films: the films of B samples, of `radrl.reporting.films.shown`, one or more each.
            first: the place of the first; by default after all that were written so far.

        Returns:
            B reports.
        """
        first = self._written if first is None else first
        self._written = first + len(films)
        drawn = self._writer.write(
            films, self._asked.prompt, **self._asked.draw, seed=self._asked.seed, first=first
        )
        return [
            Report(report_of(output.text, self._asked.form), output.text, output.ended) for (output,) in drawn
        ]

    def close(self) -> None:
        """Let go of the engine."""
        self._writer.close()

    def __enter__(self) -> Reporter:
        """Itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()
