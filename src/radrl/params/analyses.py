"""The section `analyses`: what is asked of the rollouts beside the study of arms."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, SerializeAsAny

from radrl.algorithms.diversity import StandardDeviation
from radrl.algorithms.masking import Unit
from radrl.params.credit import KEYS
from radrl.params.parts import Parts
from radrl.parts.section import PositiveInt, Section, Share


class Weights(Parts):
    """The credits whose weights are looked at; null leaves one out."""

    kind: ClassVar = "credit"
    keys: ClassVar = KEYS
    always: ClassVar = dict.fromkeys(KEYS, True)


class Masking(Section):
    """The heaviest tokens masked, the labels read again (DEER, table 6)."""

    films: PositiveInt
    share: Annotated[float, Field(gt=0, le=1)]
    replacement: str
    unit: Unit


class RewardDiversity(Section):
    """How much the rewards of a film's rollouts differ (DEER, table 7)."""

    films: PositiveInt
    std: StandardDeviation


class F1(Section):
    """How a report's own F1 is taken, as `reward.ce_f1` of an arm."""

    uncertain_as_positive: bool
    both_empty: Share


class Analyses(Section):
    """What is asked of the rollouts."""

    credit: SerializeAsAny[Weights]
    f1: F1
    masking: Masking
    reward_diversity: RewardDiversity
    examples: Annotated[int, Field(ge=0)]
