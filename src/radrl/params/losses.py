"""A training's `loss`: the name of one that TRL has, or the name with its settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import Field, TypeAdapter, ValidationError, WrapValidator, model_validator

from radrl.params.messages import explained
from radrl.parts.section import PositiveFloat, Section

Name = Literal["grpo", "bnpo", "dr_grpo", "dapo", "luspo", "cispo", "sapo", "vespo"]
NAMES: Final[tuple[str, ...]] = get_args(Name)
CLIPPED: Final = ("grpo", "bnpo", "dr_grpo", "dapo", "luspo")
"""Those that clip the ratio of policies as PPO does."""

Pair = Annotated[list[PositiveFloat], Field(min_length=2, max_length=2)]


class Entropy(Section):
    """A reward for doubt: the mean entropy of the policy's tokens, weighed, is taken from the loss.

    Without `target` the weight is `weight`. With one it is moved by `step` after each update, up while the
    entropy is at most the target and down otherwise, between `least` and `most`, and counts only in the
    former case (Skywork-OR1, arXiv 2505.22312).

    Args:
        weight: of nats a token, at the beginning.
        target: nats a token.
        least: the smallest weight; by default 0.
        most: the largest weight; by default 1.
        step: what the weight is moved by; by default 0.005.
    """

    weight: Annotated[float, Field(ge=0)]
    target: PositiveFloat | None = None
    least: Annotated[float, Field(ge=0)] | None = None
    most: PositiveFloat | None = None
    step: PositiveFloat | None = None

    @model_validator(mode="after")
    def _does_something(self) -> Entropy:
        if self.target is None and not self.weight:
            raise ValueError("weight is 0 and there is no target: leave entropy out, or give one of them")
        bounds = {key: getattr(self, key) for key in ("least", "most", "step")}
        given = [key for key, value in bounds.items() if value is not None]
        if given and self.target is None:
            raise ValueError(f"{given[0]} is of a weight that follows a target; give target, or leave it out")
        if (self.least or 0.0) > (1.0 if self.most is None else self.most):
            raise ValueError(f"least {self.least} is above most {self.most or 1.0}; exchange them")
        return self


class Loss(Section):
    """A loss with settings. Which of them go with which loss, the equations and their papers: docs/losses.md.

    Args:
        name: of the loss.
        ratio: whether the ratio of the policy to the one that drew is a token's, or the geometric mean over a
            report's tokens (GSPO, arXiv 2507.18071).
        two_sided: of the clipped losses, the most that an unclipped ratio counts where the advantage is
            negative (INTELLECT-2, arXiv 2505.07291).
        cap: of cispo, the most that a ratio counts (arXiv 2506.13585).
        temperatures: of sapo, of tokens with a positive advantage and of others (arXiv 2511.20347).
        powers: of vespo, k of reports with a positive advantage and of others.
        decays: of vespo, lambda of the two.
        doubtful_share: the share of a part's tokens, those of the highest entropy, that the policy learns
            from (arXiv 2506.01939).
        entropy: a reward for doubt.
    """

    name: Name
    ratio: Literal["token", "sequence"] = "token"
    two_sided: Annotated[float, Field(gt=1)] | None = None
    cap: Annotated[float, Field(ge=1)] | None = None
    temperatures: Pair | None = None
    powers: Pair | None = None
    decays: Pair | None = None
    doubtful_share: Annotated[float, Field(gt=0, lt=1)] | None = None
    entropy: Entropy | None = None

    @model_validator(mode="after")
    def _settings_are_the_losss(self) -> Loss:
        owners = {
            "two_sided": CLIPPED,
            "cap": ("cispo",),
            "temperatures": ("sapo",),
            "powers": ("vespo",),
            "decays": ("vespo",),
        }
        for key, names in owners.items():
            if getattr(self, key) is not None and self.name not in names:
                raise ValueError(
                    f"{key} is a setting of {', '.join(names)}, and the loss is {self.name}; leave it out"
                )
        if self.name == "vespo" and self.ratio == "sequence":
            raise ValueError("vespo weighs whole reports by itself; leave ratio out")
        return self


def _by_its_form(given: Any, _: Callable[[Any], Any]) -> Any:
    """A name or settings, so that a wrong one of either is not told of the other too."""
    if not isinstance(given, Mapping):
        return given if isinstance(given, Loss) else TypeAdapter(Name).validate_python(given)
    try:
        return Loss.model_validate(given)
    except ValidationError as error:
        raise explained(error, Loss) from None


NamedLoss = Annotated[Name | Loss, WrapValidator(_by_its_form)]
"""What `training.loss` may be."""


def require_fit(loss: str | Loss, *, credit: str, key: str) -> None:
    """Refuse a loss in which an arm's credit would do nothing.

    The derivative of a report's ratio is the same for all its tokens, so that what credit gives to single
    tokens would be averaged away without a word.

    Args:
        loss: of the arm.
        credit: its name; `uniform` gives every token alike.
        key: of the arm's `training.loss`.

    Raises:
        ValueError: for a ratio of whole reports and a credit of tokens.
    """
    if isinstance(loss, Loss) and loss.ratio == "sequence" and credit != "uniform":
        raise ValueError(
            f"{key}.ratio is sequence, whose derivative is one number a report, so the credit {credit} "
            "would be averaged away; set ratio to token, or the arm's credit to uniform"
        )
