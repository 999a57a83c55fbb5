"""The section `ingest.mimic_cxr`: MIMIC-CXR as PhysioNet ships it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from radrl.params.base import LocalPath, Section


class MimicCxr(Section):
    """MIMIC-CXR or MIMIC-CXR-JPG, 2.0.0 or 2.1.0."""

    root: LocalPath
    tables: LocalPath | None
    reports: LocalPath | None
    films: Literal["jpg", "dcm"]
    split: Literal["official", "r2gen", "drawn"]
    annotation: LocalPath | None
    text: Literal["files", "r2gen"]
    unheaded_findings: bool
    view_positions: Annotated[list[str], Field(min_length=1)] | None
    gold: LocalPath | None

    @model_validator(mode="after")
    def _annotation_is_named(self) -> MimicCxr:
        if self.annotation is None and "r2gen" in (self.split, self.text):
            raise ValueError("split or text is r2gen, so annotation must name R2Gen's annotation.json")
        return self
