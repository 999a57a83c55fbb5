"""The section `ingest`: from a source to the corpus."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from radrl.params.base import PositiveInt, Section, Share, Split
from radrl.params.sources.chexpert_plus import ChexpertPlus
from radrl.params.sources.csv import Csv
from radrl.params.sources.iu_xray import IuXray
from radrl.params.sources.mimic_cxr import MimicCxr
from radrl.params.sources.phantom import Phantom

Cleaning = Literal["none", "r2gen_iu", "r2gen_mimic", "mambaxray", "promptmrg"]


class Ingest(Section):
    """From a source to the corpus; of the sources' own sections only the chosen one's has to be there."""

    source: Literal["phantom", "csv", "iu_xray", "mimic_cxr", "chexpert_plus"]
    phantom: Phantom | None = None
    csv: Csv | None = None
    iu_xray: IuXray | None = None
    mimic_cxr: MimicCxr | None = None
    chexpert_plus: ChexpertPlus | None = None
    sample: Literal["image", "study"]
    views: Annotated[list[Literal["frontal", "lateral", "unknown"]], Field(min_length=1)]
    target: Literal["findings", "impression", "findings_impression", "report"]
    cleaning: Cleaning
    min_report_words: Annotated[int, Field(ge=0)]
    max_report_words: PositiveInt | None
    image_size: PositiveInt
    image_fit: Literal["pad", "stretch", "longest_side"]
    split_shares: dict[Split, Share]
    patients_in_two_splits: Literal["refuse", "allow"]
    max_quarantined_share: Share
    films_per_shard: PositiveInt
    workers: PositiveInt | None

    @model_validator(mode="after")
    def _described(self) -> Ingest:
        if getattr(self, self.source) is None:
            raise ValueError(
                f"ingest.source is {self.source}, but there is no section ingest.{self.source}; "
                f"copy it from a recipe in conf/recipes that has `source: {self.source}`"
            )
        return self

    def digest(self) -> str:
        """A digest of all that films and reports depend on; where it is equal, two corpora are."""
        from radrl.storage.workspaces import (
            fingerprint,  # brings pandas, which checking parameters does not need
        )

        return fingerprint(self.model_dump(exclude={"films_per_shard", "workers"}))
