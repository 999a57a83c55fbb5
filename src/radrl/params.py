"""The schema of params.yaml: every key an experimenter may set, its type and its bounds.

The file is validated once, before anything is loaded (`radrl.hooks`). Stages never import this module:
they receive plain values, so that a change here re-runs nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from radrl.params_messages import hint, render

Share = Annotated[float, Field(ge=0, le=1)]
PositiveInt = Annotated[int, Field(ge=1)]
PositiveFloat = Annotated[float, Field(gt=0)]
Split = Literal["pretrain", "train", "val", "test"]


class ParamsError(ValueError):
    """params.yaml holds something the schema refuses; the message names the key and the mend."""


class Section(BaseModel):
    """A block of params.yaml: unknown keys are refused, numbers are never guessed from strings."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Phantom(Section):
    """The drawn source."""

    studies: dict[Split, Annotated[int, Field(ge=0)]]
    prevalence: PositiveFloat
    noise: Annotated[float, Field(ge=0)]
    lateral_share: Share
    hedge_share: Share
    missing_findings: Share
    missing_impression: Share


class Csv(Section):
    """A table of films and reports."""

    path: str
    image_root: str
    columns: dict[
        Literal["image", "report", "findings", "impression", "patient", "study", "split", "view"], str | None
    ]
    views: dict[str, Literal["frontal", "lateral", "unknown"]]


class Ingest(Section):
    """From a source to the corpus."""

    source: Literal["phantom", "csv"]
    phantom: Phantom
    csv: Csv
    target: Literal["findings", "impression", "findings_impression", "report"]
    min_report_words: Annotated[int, Field(ge=0)]
    image_size: PositiveInt
    image_fit: Literal["pad", "stretch", "longest_side"]
    split_shares: dict[Split, Share]
    max_quarantined_share: Share
    films_per_shard: PositiveInt


class Labeler(Section):
    """Who reads the 14 observations out of a report."""

    name: Literal["rules"]


class TinyShape(Section):
    """The laptop policy's sizes."""

    vocab_size: Annotated[int, Field(ge=300)]
    hidden: PositiveInt
    layers: PositiveInt
    heads: PositiveInt
    kv_heads: PositiveInt
    feed_forward: PositiveInt
    vision_hidden: PositiveInt
    vision_layers: PositiveInt
    vision_heads: PositiveInt
    vision_feed_forward: PositiveInt
    patch_size: PositiveInt
    merge_size: PositiveInt


class Supervised(Section):
    """Next-token training on reference reports."""

    epochs: PositiveInt
    batch_size: PositiveInt
    gradient_accumulation: PositiveInt
    learning_rate: PositiveFloat
    warmup_share: Share
    weight_decay: Annotated[float, Field(ge=0)]
    gradient_clip: PositiveFloat
    max_tokens: PositiveInt
    checkpoint_every: PositiveInt


class Vision(Section):
    """The laptop policy's vision tower learns the words of captions."""

    epochs: PositiveInt
    batch_size: PositiveInt
    learning_rate: PositiveFloat
    weight_decay: Annotated[float, Field(ge=0)]


class Policy(Section):
    """The base policy: a local folder, or the laptop policy built and pretrained here."""

    path: str | None
    dtype: Literal["float32", "bfloat16", "float16"]
    tiny: TinyShape
    vision: Vision
    pretrain: Supervised


class Lora(Section):
    """Low-rank adapters."""

    rank: PositiveInt
    alpha: PositiveInt
    dropout: Share
    targets: list[str]


class Sft(Supervised):
    """The cold start."""

    tunes: Literal["vision", "full", "lora"]
    lora: Lora


class Sampling(Section):
    """How reports are drawn from a policy."""

    temperature: Annotated[float, Field(ge=0)]
    top_p: Annotated[float, Field(gt=0, le=1)]
    max_new_tokens: PositiveInt
    batch_size: PositiveInt


class Rollouts(Sampling):
    """K samples a training film."""

    samples: Annotated[int, Field(ge=2)]
    films_per_shard: PositiveInt


class DDSampling(Section):
    """DEER's diversity-driven sampling."""

    share: Annotated[float, Field(gt=0, le=1)]
    std: Literal["population", "sample"]
    uncertain_as_positive: bool


class Random(Section):
    """A plain random subset, DDSampling's control."""

    share: Annotated[float, Field(gt=0, le=1)]


class Balanced(Section):
    """OraPO's label-balanced subset of complete studies."""

    studies: PositiveInt


class Selection(Section):
    """Which training studies an arm sees."""

    ddsampling: DDSampling
    random: Random
    balanced: Balanced


class ClinicalF1(Section):
    """The report's own F1 over its labels (DEER eq. 1, first term)."""

    weight: float
    uncertain_as_positive: bool
    both_empty: Share


class Reward(Section):
    """The parts an arm's reward is the weighted sum of."""

    ce_f1: ClinicalF1 | None = None

    @model_validator(mode="after")
    def _some(self) -> Reward:
        if not self.model_fields_set:
            raise ValueError("an arm that trains needs at least one reward")
        return self


class Training(Section):
    """Group-relative policy optimisation; an arm's `training` overrides single keys."""

    steps: PositiveInt
    prompts_per_step: PositiveInt
    rollouts: Annotated[int, Field(ge=2)]
    gradient_accumulation: PositiveInt
    iterations: PositiveInt
    learning_rate: PositiveFloat
    schedule: Literal["constant_with_warmup", "linear", "cosine"]
    warmup_share: Share
    adam_betas: list[Share]
    weight_decay: Annotated[float, Field(ge=0)]
    gradient_clip: PositiveFloat
    temperature: PositiveFloat
    top_p: Annotated[float, Field(gt=0, le=1)]
    max_new_tokens: PositiveInt
    loss: Literal["grpo", "bnpo", "dr_grpo", "dapo"]
    advantage: Literal["trl", "population", "none"]
    clip_low: PositiveFloat
    clip_high: PositiveFloat
    kl: Annotated[float, Field(ge=0)]
    mask_truncated: bool
    tunes: Literal["vision", "full", "lora"]
    lora: Lora
    bf16: bool
    gradient_checkpointing: bool
    checkpoint_every: PositiveInt

    @model_validator(mode="after")
    def _divides(self) -> Training:
        completions = self.prompts_per_step * self.rollouts
        if completions % self.gradient_accumulation:
            raise ValueError(
                f"gradient_accumulation {self.gradient_accumulation} does not divide the {completions} "
                "rollouts of a step (prompts_per_step * rollouts)"
            )
        if self.checkpoint_every % self.iterations:
            raise ValueError(
                f"checkpoint_every {self.checkpoint_every} is no multiple of iterations {self.iterations}: "
                "rollouts still in use are not in a checkpoint"
            )
        return self


class Arm(Section):
    """One row of the ablation table: where it starts and, if it trains, on what and for what."""

    start: Literal["base", "sft"]
    selection: Literal["full", "random", "ddsampling", "balanced"]
    reward: Reward | None = None
    credit: Literal["uniform"] = "uniform"
    oracle: Literal["none"] = "none"
    training: dict[str, Any] = {}

    @model_validator(mode="after")
    def _overrides_are_keys(self) -> Arm:
        for key in self.training:
            if key not in Training.model_fields:
                raise ValueError(f"training.{key} is no key of `training`{hint(key, Training.model_fields)}")
        return self


class Generate(Sampling):
    """Reports to score."""

    split: Split


class Bootstrap(Section):
    """Intervals over patients."""

    resamples: PositiveInt
    confidence: Annotated[float, Field(gt=0, lt=1)]


class Nlg(Section):
    """Overlap of words."""

    preparation: Literal["whitespace", "basic"]
    meteor: bool


class Eval(Section):
    """Scores of one arm."""

    nlg: Nlg
    headline: list[str]


class Compare(Section):
    """The table of arms."""

    reference: str
    metrics: list[str]
    bootstrap: Bootstrap
    examples: Annotated[int, Field(ge=0)]


class Params(Section):
    """params.yaml as a whole."""

    seed: Annotated[int, Field(ge=0)]
    threads: PositiveInt
    prompt: Annotated[str, Field(min_length=1)]
    ingest: Ingest
    labeler: Labeler
    policy: Policy
    sft: Sft
    rollouts: Rollouts
    selection: Selection
    training: Training
    arms: Annotated[dict[str, Arm], Field(min_length=1)]
    generate: Generate
    eval: Eval
    compare: Compare

    @model_validator(mode="after")
    def _consistent(self) -> Params:
        if self.compare.reference not in self.arms:
            raise ValueError(
                f"compare.reference {self.compare.reference!r} is no arm; arms: {', '.join(self.arms)}"
            )
        for name, arm in self.arms.items():
            if not name.isidentifier():
                raise ValueError(f"arms.{name}: an arm's name is letters, digits and underscores")
            if arm.training and arm.reward is None:
                raise ValueError(f"arms.{name}.training is set but the arm has no reward: it would not train")
            try:
                Training.model_validate(self.training.model_dump() | arm.training)
            except ValidationError as error:
                raise ValueError(render(error, Training, f"arms.{name}.training")) from None
        return self


def validate(values: dict[str, Any], *, source: str = "params.yaml") -> Params:
    """Check a whole set of parameters.

    Args:
        values: as read from YAML.
        source: the file to name in the message.

    Returns:
        The typed parameters.

    Raises:
        ParamsError: listing every wrong key with what would be right.
    """
    try:
        return Params.model_validate(values)
    except ValidationError as error:
        raise ParamsError(f"{source} is not valid:\n{render(error, Params)}") from None


def read(path: Path) -> Params:
    """Read and check a params file.

    Raises:
        ParamsError: when the file is no YAML mapping or the schema refuses it.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ParamsError(f"{path} is no valid YAML: {error}") from None
    if not isinstance(values, dict):
        raise ParamsError(f"{path} holds no mapping of parameters")
    return validate(values, source=path.name)
