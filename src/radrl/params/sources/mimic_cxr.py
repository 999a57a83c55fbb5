"""The section `ingest.mimic_cxr`: MIMIC-CXR as PhysioNet ships it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from radrl.params.base import Section


class MimicCxr(Section):
    """MIMIC-CXR or MIMIC-CXR-JPG, 2.0.0 or 2.1.0."""

    root: str
    tables: str | None
    reports: str | None
    films: Literal["jpg", "dcm"]
    split: Literal["official", "r2gen", "drawn"]
    annotation: str | None
    text: Literal["files", "r2gen"]
    unheaded_findings: bool
    view_positions: Annotated[list[str], Field(min_length=1)] | None
    gold: str | None

    @model_validator(mode="after")
    def _annotation_is_named(self) -> MimicCxr:
        if self.annotation is None and "r2gen" in (self.split, self.text):
            raise ValueError("split or text is r2gen, so annotation must name R2Gen's annotation.json")
        return self
