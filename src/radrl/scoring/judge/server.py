"""The judge `endpoint` as params.yaml names it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from radrl.parts.section import LocalPath, PositiveFloat, PositiveInt, Section, takes
from radrl.scoring.judge.base import Judge


class EndpointSection(Section):
    """A server that speaks OpenAI's protocol; prompts go to `allowed_hosts` and nowhere else."""

    backend: Literal["endpoint"]
    url: str
    model: str
    allowed_hosts: list[str]
    concurrency: PositiveInt
    retries: Annotated[int, Field(ge=0)]
    timeout: PositiveFloat
    max_tokens: PositiveInt
    temperature: Annotated[float, Field(ge=0)]
    seed: int | None
    api_key_env: str | None = None
    extra_body: dict[str, Any] | None = None
    backoff: PositiveFloat = 1.0
    longest_wait: PositiveFloat = 60.0
    cache: LocalPath | None = None


@takes(EndpointSection)
def endpoint(
    structured: Mapping[str, Any] | None = None, *, cache: str | Path | None = None, **settings: Any
) -> Judge:
    """A server that speaks OpenAI's protocol.

    Args:
        structured: JSON schema of the answers.
        cache: file of answers.
        **settings: further arguments of `radrl.scoring.judge.endpoint.EndpointJudge`.
    """
    from radrl.scoring.judge.endpoint import EndpointJudge

    kept = None if cache is None else Path(cache)
    return EndpointJudge(structured=structured, cache=kept, **settings)
