"""The section `ingest`: from a source to the corpus."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from radrl.params.base import PositiveFloat, PositiveInt, Section, Share, Split


class Phantom(Section):
    """The drawn source."""

    studies: dict[Split, Annotated[int, Field(ge=0)]]
    prevalence: PositiveFloat
    noise: Annotated[float, Field(ge=0)]
    lateral_share: Share
    hedge_share: Share
    missing_findings: Share
    missing_impression: Share


class Csv(Section):
    """A table of films and reports."""

    path: str
    image_root: str
    columns: dict[
        Literal["image", "report", "findings", "impression", "patient", "study", "split", "view"], str | None
    ]
    views: dict[str, Literal["frontal", "lateral", "unknown"]]


class Ingest(Section):
    """From a source to the corpus."""

    source: Literal["phantom", "csv"]
    phantom: Phantom
    csv: Csv
    target: Literal["findings", "impression", "findings_impression", "report"]
    min_report_words: Annotated[int, Field(ge=0)]
    image_size: PositiveInt
    image_fit: Literal["pad", "stretch", "longest_side"]
    split_shares: dict[Split, Share]
    max_quarantined_share: Share
    films_per_shard: PositiveInt
