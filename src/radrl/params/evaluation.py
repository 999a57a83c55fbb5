"""The sections `eval` and `compare`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from radrl.params.base import LocalPath, PositiveFloat, PositiveInt, Section
from radrl.params.data import Cleaning
from radrl.params.labeler import LabelerName


class Nlg(Section):
    """Overlap of words."""

    preparation: Literal["whitespace", "basic"]
    meteor: bool


class RadGraph(Section):
    """The package `radgraph`, in an interpreter of its own."""

    python: LocalPath | None
    model: LocalPath
    batch_size: PositiveInt
    timeout: PositiveFloat = 1800.0


class RadEval(Section):
    """Metrics of the package RadEval, in an interpreter of its own."""

    python: LocalPath | None
    metrics: Annotated[list[str], Field(min_length=1)]
    models: LocalPath | None
    timeout: PositiveFloat = 1800.0


class EndpointJudge(Section):
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


class FolderJudge(Section):
    """A language model on this machine."""

    backend: Literal["folder"]
    folder: LocalPath
    chat: Literal["own", "green"]
    batch_size: PositiveInt
    max_new_tokens: PositiveInt
    device: str = "cpu"
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    cache: LocalPath | None = None


class Green(Section):
    """GREEN by a judge."""

    judge: Annotated[EndpointJudge | FolderJudge, Field(discriminator="backend")]
    missing: Literal["raise", "skip"]


Family = Literal["ce", "nlg", "radgraph_rules", "green_rules", "radgraph", "green", "radeval"]


class Eval(Section):
    """Scores of one arm; a family of metrics that needs a model or a tool has a section of its own."""

    families: Annotated[list[Family], Field(min_length=1)]
    cleaning: Cleaning
    max_report_words: PositiveInt | None
    labelers: Annotated[list[LabelerName], Field(min_length=1)]
    nlg: Nlg
    radgraph: RadGraph | None = None
    green: Green | None = None
    radeval: RadEval | None = None
    headline: list[str]

    @model_validator(mode="after")
    def _models_are_named(self) -> Eval:
        for name in ("radgraph", "green", "radeval"):
            if name in self.families and getattr(self, name) is None:
                raise ValueError(f"families lists {name}, but its section eval.{name} is not set")
        return self


class Bootstrap(Section):
    """Intervals over patients."""

    resamples: PositiveInt
    confidence: Annotated[float, Field(gt=0, lt=1)]


class Compare(Section):
    """The table of arms."""

    reference: str
    metrics: list[str]
    bootstrap: Bootstrap
    examples: Annotated[int, Field(ge=0)]
