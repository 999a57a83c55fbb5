"""The section `ingest.phantom`: the drawn source."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from radrl.params.base import PositiveFloat, Section, Share, Split


class Phantom(Section):
    """The drawn source."""

    studies: dict[Split, Annotated[int, Field(ge=0)]]
    prevalence: PositiveFloat
    noise: Annotated[float, Field(ge=0)]
    lateral_share: Share
    hedge_share: Share
    missing_findings: Share
    missing_impression: Share
