"""The section `ingest`: from a source to the corpus."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from radrl.params.base import PositiveInt, Section, Share, Split
from radrl.params.sources.csv import Csv
from radrl.params.sources.phantom import Phantom


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
