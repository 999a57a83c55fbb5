"""What params.yaml says of a judge; apart from the judges, which those that name none need not have."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from radrl.parts.section import LocalPath, PositiveFloat, PositiveInt, Section
from radrl.process.devices import check


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


class FolderSection(Section):
    """A language model on this machine."""

    backend: Literal["folder"]
    folder: LocalPath
    chat: Literal["own", "green"]
    batch_size: PositiveInt
    max_new_tokens: PositiveInt
    device: Annotated[str, AfterValidator(check)] = "cpu"
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    cache: LocalPath | None = None
