"""The section `ingest.iu_xray`: IU X-Ray (Open-i)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from radrl.params.base import LocalPath, Section


class IuXray(Section):
    """IU X-Ray; all names are relative to root."""

    root: LocalPath
    reports: str | None
    projections: str | None
    films: str | None
    annotation: str | None
    labels: str | None
    split: Literal["r2gen", "drawn"]
    images: Literal["files", "phantom"]
    noise: Annotated[float, Field(ge=0)]
    xxxx: Literal["keep", "drop"]
