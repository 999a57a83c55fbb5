"""The source `phantom`: drawn films and their reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeGuard

from pydantic import Field, field_validator, model_validator

from radrl.data.phantom.findings import DRAWN, check_hedges, shares_of
from radrl.data.phantom.wording import Boilerplate, check_words
from radrl.data.sources.base import Source
from radrl.parts.choices import near
from radrl.parts.section import PositiveFloat, PositiveInt, Section, Share, Split, takes


class PhantomSection(Section):
    """The drawn source."""

    studies: dict[Split, Annotated[int, Field(ge=0)]]
    prevalence: float | dict[str, float]
    severity: Annotated[list[PositiveFloat], Field(min_length=2, max_length=2)]
    words: Annotated[list[PositiveInt], Field(min_length=2, max_length=2)]
    noise: Annotated[float, Field(ge=0)]
    lateral_share: Share
    hedge_share: Share
    missing_findings: Share
    missing_impression: Share
    boilerplate: Boilerplate = "usual"
    near_copies: Share = 0.0
    normal_share: Share = 0.0

    @field_validator("prevalence", mode="plain")
    @classmethod
    def _drawable(cls, prevalence: object) -> float | dict[str, float]:
        """Plain, since pydantic would name every branch of the union that a wrong value fails."""
        if _is_number(prevalence):
            shares_of(prevalence)
            return prevalence
        if not isinstance(prevalence, Mapping):
            raise ValueError(
                "must be a number, which scales every share, or shares of single observations "
                f"(it is {prevalence!r})"
            )
        for name, share in prevalence.items():
            if name not in DRAWN:
                raise ValueError(
                    f"{name!r} is no observation that is drawn{near(str(name), DRAWN)} "
                    f"Observations: {', '.join(DRAWN)}"
                )
            if not _is_number(share):
                raise ValueError(f"{name}: must be a number (it is {share!r})")
        shares_of(prevalence)
        return dict(prevalence)

    @field_validator("words")
    @classmethod
    def _rising(cls, words: list[int]) -> list[int]:
        check_words(words)
        return words

    @model_validator(mode="after")
    def _enough_subtle_findings(self) -> PhantomSection:
        check_hedges(self.hedge_share, self.severity)
        return self

    @model_validator(mode="after")
    def _a_pool(self) -> PhantomSection:
        if self.near_copies + self.normal_share > 1:
            raise ValueError(
                f"near_copies and normal_share are shares of the same training studies, together at most 1 "
                f"(they are {self.near_copies:g} and {self.normal_share:g})"
            )
        return self


def _is_number(value: object) -> TypeGuard[float]:
    """Whether YAML has a number there, and no truth value."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@takes(PhantomSection, drawn=True)
def phantom(seed: int, image_size: int, **settings: Any) -> Source:
    """Drawn films with reports, from one seed.

    Args:
        seed: of everything drawn.
        image_size: of the films, in pixels.
        **settings: further arguments of `radrl.data.sources.phantom.read`.
    """
    from radrl.data.sources.phantom import read

    return Source(read(seed=seed, image_size=image_size, **settings))
