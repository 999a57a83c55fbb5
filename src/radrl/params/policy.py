"""The sections of a policy that writes reports: `policy`, `sft`, `rollouts`, `generate`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from radrl.parts.section import LocalPath, Neutral, PositiveFloat, PositiveInt, Section, Share, Split
from radrl.reports.prompts import places

Optimizer = Literal["adamw", "adamw_8bit"]
"""AdamW with its state in 32 bits or, by bitsandbytes, in 8."""


def _placed(template: str) -> str:
    places(template)
    return template


Template = Annotated[str, Field(min_length=1), AfterValidator(_placed)]


class Prompts(Section):
    """The instruction for each form of output, by the form's name, with places (`radrl.reports.prompts`)."""

    plain: Template
    think_report: Template


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
    examples_at_once: PositiveInt
    learning_rate: PositiveFloat
    optimizer: Optimizer
    warmup_share: Share
    weight_decay: Annotated[float, Field(ge=0)]
    gradient_clip: PositiveFloat
    bf16: bool
    max_tokens: PositiveInt
    checkpoint_every: PositiveInt


class ThinkReport(Section):
    """The share of the laptop policy's pretraining that asks for reasoning and report."""

    share: Share
    obeyed: Share


class Pretrain(Supervised):
    """The laptop policy learns to write, sometimes in the form that MRG-R1 rewards."""

    tunes: Literal["language", "full"]
    think_report: ThinkReport


class Vision(Section):
    """The laptop policy's vision tower learns the phrases of reports."""

    epochs: PositiveInt
    batch_size: PositiveInt
    learning_rate: PositiveFloat
    warmup_share: Share
    weight_decay: Annotated[float, Field(ge=0)]
    gradient_clip: PositiveFloat


class Policy(Section):
    """The base policy: a local folder, or the laptop policy built and pretrained here."""

    path: LocalPath | None
    dtype: Literal["float32", "bfloat16", "float16"]
    tiny: TinyShape | None = None
    radiographs: Share | None = None
    vision: Vision | None = None
    pretrain: Pretrain | None = None

    @model_validator(mode="after")
    def _laptop_policy_is_described(self) -> Policy:
        absent = [
            name for name in ("tiny", "radiographs", "vision", "pretrain") if getattr(self, name) is None
        ]
        if self.path is None and absent:
            raise ValueError(
                f"path is null, so the laptop policy is built, but there is no policy.{absent[0]}; "
                "copy it from conf/recipes/phantom-laptop.yaml, or give path"
            )
        return self


class Lora(Section):
    """Low-rank adapters.

    Args:
        quantise: hold the language model's layers below them in four bits (`radrl.training.four_bit`).
    """

    rank: PositiveInt
    alpha: PositiveInt
    dropout: Share
    targets: Annotated[list[str], Field(min_length=1)]
    quantise: Literal["nf4"] | None = None


class Sft(Supervised):
    """The cold start."""

    tunes: Literal["vision", "full", "lora"]
    lora: Lora


class Sampling(Section):
    """How reports are drawn from a policy."""

    engine: Annotated[Literal["hf", "vllm"], Neutral("hf")]
    temperature: Annotated[float, Field(ge=0)]
    top_p: Annotated[float, Field(gt=0, le=1)]
    max_new_tokens: PositiveInt
    batch_size: PositiveInt


class Rollouts(Sampling):
    """K samples a training film, which differ only where they are drawn."""

    temperature: PositiveFloat
    samples: Annotated[int, Field(ge=2)]
    films_per_shard: PositiveInt


class Generate(Sampling):
    """Reports to score."""

    split: Split
