"""The section `ingest.chexpert_plus`: CheXpert Plus as Stanford AIMI ships it."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from radrl.params.base import LocalPath, Section


class ChexpertPlus(Section):
    """CheXpert Plus as Stanford AIMI ships it."""

    path: LocalPath
    images: LocalPath
    films: Literal["png", "jpg", "dicom"]
    split: Literal["release", "mambaxray", "drawn"]
    annotation: LocalPath | None
    gold: LocalPath | None
    test: Literal["split", "gold"]

    @model_validator(mode="after")
    def _files_are_named(self) -> ChexpertPlus:
        if self.split == "mambaxray" and self.annotation is None:
            raise ValueError("split: mambaxray needs annotation, the benchmark's annotation file")
        if self.test == "gold" and self.gold is None:
            raise ValueError("test: gold needs gold, a file of labels such as CheXpert's valid.csv")
        return self
