"""The source `iu_xray`: IU X-Ray (Open-i, the Indiana University collection; Demner-Fushman et al. 2016)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from radrl.data.sources import Source
from radrl.parts.section import LocalPath, Section, takes


class IuXraySection(Section):
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


def _drawn(settings: Mapping[str, Any]) -> bool:
    return bool(settings["images"] == "phantom")


@takes(IuXraySection, drawn=_drawn)
def iu_xray(seed: int, image_size: int, *, root: str, **settings: Any) -> Source:
    """IU X-Ray (Open-i).

    Args:
        seed: of films drawn in place of the real ones.
        image_size: of those, in pixels.
        root: the folder that no file may leave.
        **settings: further arguments of `radrl.data.sources.iu_xray.source.read`.
    """
    from radrl.data.sources.iu_xray.source import read

    source = read(root=Path(root), seed=seed, image_size=image_size, **settings)
    return replace(source, root=Path(root))
