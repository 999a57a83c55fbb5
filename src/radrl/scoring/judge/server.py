"""The judge `endpoint` as params.yaml names it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from radrl.parts.section import takes
from radrl.scoring.judge import EndpointSection, Judge


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
