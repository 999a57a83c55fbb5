"""The source `mimic_cxr`: MIMIC-CXR and MIMIC-CXR-JPG 2.0.0 and 2.1.0 as PhysioNet ships them.

See docs/data/mimic_cxr.md.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from radrl.data.sources import Source, path_or_none
from radrl.parts.section import LocalPath, Section, takes


class MimicCxrSection(Section):
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
    def _annotation_is_named(self) -> MimicCxrSection:
        if self.annotation is None and "r2gen" in (self.split, self.text):
            raise ValueError("split or text is r2gen, so annotation must name R2Gen's annotation.json")
        return self


@takes(MimicCxrSection)
def mimic_cxr(
    *,
    root: str,
    tables: str | None,
    reports: str | None,
    annotation: str | None,
    gold: str | None,
    **settings: Any,
) -> Source:
    """MIMIC-CXR or MIMIC-CXR-JPG as PhysioNet ships it.

    Args:
        root: the folder that no film's path may leave.
        tables: the folder of the tables.
        reports: the reports.
        annotation: R2Gen's annotation.json.
        gold: the table of the radiologist's labels.
        **settings: further arguments of `radrl.data.sources.mimic_cxr.source.read`.
    """
    from radrl.data.sources.mimic_cxr.source import read

    source = read(
        root=Path(root),
        tables=path_or_none(tables),
        reports=path_or_none(reports),
        annotation=path_or_none(annotation),
        gold=path_or_none(gold),
        **settings,
    )
    return replace(source, root=Path(root))
