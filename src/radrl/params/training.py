"""The sections of reinforcement learning: `selection`, `training`, `arms` with their reward and credit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import (
    BeforeValidator,
    Field,
    SerializeAsAny,
    SerializerFunctionWrapHandler,
    WrapSerializer,
    model_serializer,
    model_validator,
)

from radrl.algorithms.importance import Mode
from radrl.algorithms.ln_dpo import Negatives
from radrl.algorithms.oracle import Per, WithoutNegatives
from radrl.algorithms.total_reward import two_phase
from radrl.params.losses import Loss, NamedLoss
from radrl.params.messages import gone
from radrl.params.parts import Parts
from radrl.params.policy import Lora, Optimizer
from radrl.parts.builtin import BUILTIN
from radrl.parts.choices import hint
from radrl.parts.find import find, names
from radrl.parts.section import Neutral, PositiveFloat, PositiveInt, Section, Share
from radrl.reports.output import Form
from radrl.rewards.base import InTheSum
from radrl.training import length

_UNIFORM: Final = "uniform"
CREDITS: Final = {name: name for name in BUILTIN["credit"] if name != _UNIFORM}
"""The built-in credits that have settings."""


class Credit(Parts):
    """One of them, or the word uniform."""

    kind: ClassVar = "credit"
    keys: ClassVar = CREDITS

    @classmethod
    def read(cls, given: Any) -> Any:
        """One credit; nothing where every token weighs the same.

        Raises:
            ValueError: when it is none, or several.
        """
        if given == _UNIFORM:
            return {}
        *others, last = [name for name in names(cls.kind) if name != _UNIFORM]
        kinds = f"uniform, or one of {', '.join(others)} and {last} with its settings"
        if not isinstance(given, Mapping):
            raise ValueError(f"{given!r} is no credit; give {kinds}")
        known = all(name in cls.keys or isinstance(own, Mapping) for name, own in given.items())
        if known and sum(own is not None for own in given.values()) != 1:
            raise ValueError(f"give {kinds}")
        return given

    @model_serializer(mode="wrap")
    def _as_written(self, dump: SerializerFunctionWrapHandler) -> Any:
        return dump(self) if self.model_fields_set else _UNIFORM


UNIFORM: Final = Credit.model_validate(_UNIFORM)


_KIND: Final = "reward"


class Reward(Parts):
    """The parts an arm's reward is the weighted sum of."""

    kind: ClassVar = _KIND
    keys: ClassVar = {name: name for name in BUILTIN[_KIND]}

    @property
    def clinical(self) -> bool:
        """Whether a part of it that weighs something judges findings."""
        found = self.found or {}
        return any(
            getattr(found[name].object, "clinical", False) and (part.weight or part.first_weight)
            for name, part in self.parts().items()
        )

    @model_validator(mode="after")
    def _some(self) -> Reward:
        parts: dict[str, InTheSum] = self.parts()
        if not parts:
            raise ValueError("an arm that trains needs at least one reward")
        for name, part in parts.items():
            if part.first_weight and not part.phase_switch:
                raise ValueError(
                    f"{name}.first_weight counts until phase_switch, which is 0; set both or none"
                )
        for share in sorted({0.0, *(part.phase_switch for part in parts.values())} - {1.0}):
            if not any(_weight(part, share) for part in parts.values()):
                raise ValueError(
                    f"every weight is 0 when a share of {share:g} of the steps is done; give a part a weight "
                    "above 0, or a first_weight where its phase_switch is still to come"
                )
        return self


def clinical_names() -> list[str]:
    """The names of rewards that judge findings, so that 0 says that nothing was right."""
    return [name for name in names(_KIND) if getattr(find(_KIND, name).object, "clinical", False)]


def _weight(part: InTheSum, share: float) -> float:
    return float(
        two_phase(share, phase_switch=part.phase_switch, first=part.first_weight, second=part.weight)
    )


class OwnSelections(Parts):
    """Selections of one's own."""

    kind: ClassVar = "selection"

    @classmethod
    def read(cls, given: Any) -> Any:
        """A selection without settings may have nothing there."""
        return {name: own or {} for name, own in given.items()} if isinstance(given, Mapping) else given


class Selection(Parts):
    """Which training studies an arm sees; `balanced` may be null, for tables with few complete studies."""

    kind: ClassVar = "selection"
    keys: ClassVar = {name: name for name in ("ddsampling", "most_diverse", "random", "balanced")}
    always: ClassVar = {name: name == "balanced" for name in keys}
    open: ClassVar = False

    own: SerializeAsAny[OwnSelections] = OwnSelections.model_validate({})

    def names(self) -> list[str]:
        """What an arm's `selection` can be: a built-in one that is null cannot."""
        left_out = self.keys.keys() - self.parts().keys()
        return [*(name for name in BUILTIN[self.kind] if name not in left_out), *self.own.parts()]


class WatchedRollouts(Section):
    """Rollouts of training films to look at, those that updates are made from anyway (docs/training.md).

    Args:
        every: updates from one look to the next; the first and the last are looked at too.
        groups: how many of the best, and how many of the worst, of an update.
    """

    every: PositiveInt
    groups: PositiveInt


class Watch(Section):
    """Validation films whose reports are read while a policy trains; `every: 0` switches it off.

    Args:
        every: updates from one look to the next.
        films: how many.
        metric: the number of a look that says how good the policy is.
        patience: updates without a better look after which training ends; null trains all steps.
        keep: the weights that training hands on: the last ones, or those of the best look.
        rollouts: which rollouts of training films are shown, whether films are watched or not; null for none.
    """

    every: Annotated[int, Field(ge=0)]
    films: PositiveInt
    metric: Literal["sample14_f1", "macro14_f1", "micro14_f1", "mccs"]
    patience: PositiveInt | None
    keep: Literal["last", "best"]
    rollouts: WatchedRollouts | None = None

    @property
    def decides(self) -> bool:
        """Whether looks decide when training ends or which weights it hands on."""
        return length.looks_decide(self.model_dump())

    @model_validator(mode="after")
    def _looks_where_it_decides(self) -> Watch:
        if not self.every and self.decides:
            raise ValueError(
                f"patience is {self.patience} and keep is {self.keep}, but every is 0: no film is looked at; "
                "set every to a number of updates, or patience to null and keep to last"
            )
        return self


class Importance(Section):
    """How rollouts that another engine drew are weighed (TRL's correction): pi / mu up to a cap.

    Args:
        mode: whether a ratio is a token's or a whole rollout's, and whether one above the cap is truncated or
            left out.
        cap: the largest ratio.
    """

    mode: Mode
    cap: Annotated[float, Field(ge=1)]


class DynamicSampling(Section):
    """What becomes of groups whose rewards are equal, which teach nothing (docs/training.md).

    Args:
        mode: whether further films are drawn in their place, or they leave the loss.
        at_most: of redraw, batches of further films that a step may draw, each of `prompts_per_step` at most.
    """

    mode: Literal["redraw", "drop"]
    at_most: PositiveInt | None = None

    @model_validator(mode="after")
    def _bound_is_of_redraw(self) -> DynamicSampling:
        if self.mode == "redraw" and self.at_most is None:
            raise ValueError(
                "mode is redraw, which needs at_most: how many batches of further films a step may draw"
            )
        if self.mode == "drop" and self.at_most is not None:
            raise ValueError(f"at_most {self.at_most} bounds what is redrawn, and mode is drop; leave it out")
        return self


class Training(Section):
    """Group-relative policy optimisation; an arm's `training` overrides single keys."""

    steps: PositiveInt | None
    epochs: PositiveFloat | None
    prompts_per_step: PositiveInt
    rollouts: Annotated[int, Field(ge=2)]
    rollouts_at_once: PositiveInt
    iterations: PositiveInt
    learning_rate: PositiveFloat
    optimizer: Optimizer
    schedule: Literal["constant_with_warmup", "linear", "cosine"]
    warmup_share: Share
    adam_betas: Annotated[list[Share], Field(min_length=2, max_length=2)]
    weight_decay: Annotated[float, Field(ge=0)]
    gradient_clip: PositiveFloat
    engine: Annotated[Literal["hf", "hf_bfloat16", "vllm"], Neutral("hf")]
    importance: Importance | None
    temperature: PositiveFloat
    top_p: Annotated[float, Field(gt=0, le=1)]
    max_new_tokens: PositiveInt
    loss: NamedLoss
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
    watch: Watch | None
    dynamic_sampling: DynamicSampling | None = None
    reward_sum: Literal["sum", "normalised"] = "sum"

    @model_validator(mode="after")
    def _parts_have_advantages(self) -> Training:
        if self.reward_sum == "sum":
            return self
        if self.advantage == "none":
            raise ValueError(
                "reward_sum is normalised, but advantage none divides by no spread, so that it would be the "
                "sum; set reward_sum to sum, or advantage to trl or population"
            )
        if self.dynamic_sampling is not None:
            raise ValueError(
                "dynamic_sampling looks for groups whose summed rewards are equal, but with reward_sum "
                "normalised such a group may teach; set reward_sum to sum, or dynamic_sampling to null"
            )
        return self

    @model_validator(mode="after")
    def _has_one_length(self) -> Training:
        if (self.steps is None) == (self.epochs is None):
            raise ValueError(
                f"steps is {self.steps} and epochs is {self.epochs}; give one of them (updates, or "
                "passes over the arm's films) and set the other to null"
            )
        return self

    @model_validator(mode="after")
    def _entropy_of_what_is_left(self) -> Training:
        doubt = isinstance(self.loss, Loss) and self.loss.entropy is not None
        if doubt and self.dynamic_sampling is not None and self.dynamic_sampling.mode == "drop":
            raise ValueError(
                "dynamic_sampling.mode is drop, whose factor for what is left would weigh loss.entropy too; "
                "leave out loss.entropy, or set mode to redraw"
            )
        return self

    @model_validator(mode="after")
    def _checkpoints_fit(self) -> Training:
        if self.checkpoint_every % self.iterations:
            raise ValueError(
                f"checkpoint_every {self.checkpoint_every} is no multiple of iterations {self.iterations}: "
                "rollouts still in use are not in a checkpoint"
            )
        if self.watch and self.watch.keep == "best" and self.watch.every % self.iterations:
            raise ValueError(
                f"watch.every {self.watch.every} is no multiple of iterations {self.iterations}, but "
                "watch.keep is best: rollouts still in use are not in a checkpoint of a look"
            )
        return self


class Oracle(Section):
    """OraPO's oracle: the reference report preferred over failed rollouts, the more the more of them fail."""

    momentum: Annotated[float, Field(ge=0, le=1)]
    per: Per
    w_min: Share
    w_max: Share
    exponent: PositiveFloat
    negatives: Negatives
    without_negatives: WithoutNegatives
    tau: PositiveFloat

    @model_validator(mode="after")
    def _bounds(self) -> Oracle:
        if self.w_min > self.w_max:
            raise ValueError(f"w_min {self.w_min} is above w_max {self.w_max}; exchange them")
        return self


def _none_or_settings(given: Any) -> Any:
    if given == "none":
        return None
    if not isinstance(given, Mapping):
        raise ValueError(f"{given!r} is no oracle; give none, or its settings")
    return given


class Arm(Section):
    """One row of the ablation table: where it starts and, if it trains, on what and for what."""

    start: Literal["base", "sft"]
    selection: str
    reward: SerializeAsAny[Reward] | None = None
    output: Form = "plain"
    credit: SerializeAsAny[Credit] = UNIFORM
    oracle: Annotated[
        Oracle | None,
        BeforeValidator(_none_or_settings),
        WrapSerializer(lambda own, dump: "none" if own is None else dump(own)),
    ] = None
    training: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _overrides_are_keys(self) -> Arm:
        for key in self.training:
            if key not in Training.model_fields:
                unknown = f"is no key of `training`{hint(key, Training.model_fields)}"
                raise ValueError(f"training.{key} {gone(key) or unknown}")
        return self

    @model_validator(mode="after")
    def _oracle_fits(self) -> Arm:
        if self.oracle is None:
            return self
        if self.reward is None:
            raise ValueError("oracle is set but the arm has no reward: it would not train")
        if not self.reward.clinical:
            raise ValueError(
                "oracle counts rollouts whose clinical reward is 0, but no clinical part of reward has a "
                f"weight; add one of {', '.join(clinical_names())}, or set oracle to none"
            )
        if self.output != "plain":
            raise ValueError(
                f"oracle prefers the reference report, which has no reasoning, but output is {self.output}; "
                "set output to plain, or oracle to none"
            )
        return self

    @model_validator(mode="after")
    def _form_fits(self) -> Arm:
        if self.output == "plain" and self.reward is not None and "format" in self.reward.parts():
            raise ValueError(
                "reward.format judges the blocks of reasoning and report, but output is plain; set output to "
                "think_report, or leave out reward.format"
            )
        return self
