"""What ingest refuses, why, and what it says when too much is refused."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from radrl.data.spreadsheets import quoted

if TYPE_CHECKING:
    import pyarrow as pa  # which parts are named without


Reason = Literal[
    "malformed_row",
    "missing_id",
    "missing_image",
    "outside_root",
    "unreadable_image",
    "unsupported_format",
    "no_decoder",
    "too_large",
    "too_small",
    "blank_image",
    "missing_report",
    "malformed_report",
    "empty_report",
    "short_report",
    "unknown_split",
    "duplicate_film",
    "duplicate_id",
    "scattered_study",
    "left_out_view",
    "left_out_split",
]

REASONS: Final[dict[Reason, str]] = {
    "malformed_row": "the row cannot be read as the header promises",
    "missing_id": "a column named as patient or study is empty",
    "missing_image": "no film is named, or none is there",
    "outside_root": "the path leaves the image root",
    "unreadable_image": "the film is damaged or no image",
    "unsupported_format": "an image format that is not read",
    "no_decoder": "compressed in a way that no installed decoder reads",
    "too_large": "more pixels than any film has",
    "too_small": "fewer pixels than any film has",
    "blank_image": "the film shows one grey only",
    "missing_report": "the source has no report of the study",
    "malformed_report": "the report's file cannot be read",
    "empty_report": "no text for the target",
    "short_report": "fewer words than min_report_words",
    "unknown_split": "the split's name is unknown",
    "duplicate_film": "the same pixels came before",
    "duplicate_id": "one study id with two patients or two reports",
    "scattered_study": "a study's films do not stand together",
    "left_out_view": "a view that params.yaml does not ask for",
    "left_out_split": "in none of the splits that params.yaml asks for",
}
"""The closed vocabulary of reasons, each in words."""

BY_CHOICE: Final[frozenset[Reason]] = frozenset({"left_out_view", "left_out_split"})
"""Reasons that say nothing against the data; they do not count against `max_quarantined_share`."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """One record that does not enter the corpus.

    Args:
        key: where the record stands in its source.
        reason: one of `REASONS`.
        detail: what exactly is wrong, and the mend where one is known.
        study_id: the study, empty when the source names none.
        image: the film's path as the source gives it, or nothing.
    """

    key: str
    reason: Reason
    detail: str
    study_id: str = ""
    image: str | None = None


class Refused(Exception):
    """Raised by a check on one record, turned into its `Refusal` by ingest."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason: Reason = reason
        self.detail = detail


class PatientInTwoSplits(ValueError):
    """A source puts one patient into two splits, so that a test would know its patients from training."""


class TooManyQuarantined(ValueError):
    """More was refused than the parameter allows.

    Attributes:
        quarantine: all that was refused.
    """

    def __init__(self, message: str, quarantine: Quarantine) -> None:
        super().__init__(message)
        self.quarantine = quarantine


class Quarantine:
    """The records refused so far, in source order."""

    def __init__(self) -> None:
        self._refusals: list[Refusal] = []

    def __len__(self) -> int:
        return len(self._refusals)

    def __iter__(self) -> Iterator[Refusal]:
        return iter(self._refusals)

    def add(self, refusal: Refusal) -> None:
        """Take in one refused record."""
        self._refusals.append(refusal)

    def counts(self) -> dict[Reason, int]:
        """Count records by reason, the commonest first, ties by name."""
        counter = Counter(refusal.reason for refusal in self._refusals)
        return dict(sorted(counter.items(), key=lambda item: (-item[1], item[0])))

    def table(self) -> pa.Table:
        """Give the refused records as a table with the columns of `schema`, for CSV."""
        import pyarrow as pa

        rows = [
            (quoted(r.key), quoted(r.study_id), r.image and quoted(r.image), r.reason, quoted(r.detail))
            for r in self._refusals
        ]
        columns = zip(*rows, strict=True) if rows else [()] * len(schema())
        return pa.table([list(column) for column in columns], schema=schema())

    def summary(self, *, examples: int = 3) -> str:
        """Say how many records were refused for each reason, with a few examples of each."""
        lines = []
        for reason, count in self.counts().items():
            lines.append(f"  {reason}: {count} ({REASONS[reason]})")
            shown = [r for r in self._refusals if r.reason == reason][:examples]
            lines += [f"    {r.key}{f', {r.image}' if r.image else ''}: {r.detail}" for r in shown]
        return "\n".join(lines)

    def check_share(self, read: int, *, limit: float) -> None:
        """Refuse a source of which too much was refused.

        Args:
            read: how many records the source gave; those left out by choice are taken off on both sides.
            limit: the largest share that may be refused.

        Raises:
            TooManyQuarantined: with the summary and the parameter to raise.
        """
        chosen = sum(refusal.reason in BY_CHOICE for refusal in self._refusals)
        refused, read = len(self) - chosen, read - chosen
        if read == 0 or refused <= limit * read:
            return
        share = refused / read
        raise TooManyQuarantined(
            f"{refused} of {read} records were quarantined ({share:.1%}), more than "
            f"max_quarantined_share = {limit:g}:\n{self.summary()}\nMend the source, or raise "
            f"max_quarantined_share to {math.ceil(share * 1000) / 1000:g} or more.",
            self,
        )


def schema() -> pa.Schema:
    """The columns of the table of refused records, a row a record."""
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("source_key", pa.string(), nullable=False),
            pa.field("study_id", pa.string(), nullable=False),  # empty when the source names none
            pa.field("image", pa.string()),  # path as the source gives it
            pa.field("reason", pa.string(), nullable=False),  # one of `REASONS`
            pa.field("detail", pa.string(), nullable=False),
        ]
    )
