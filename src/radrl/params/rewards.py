"""An arm's reward, `arms.<name>.reward` in params.yaml: the parts it is the weighted sum of."""

from __future__ import annotations

from typing import ClassVar, Final

from pydantic import model_validator

from radrl.algorithms.schedules import two_phase
from radrl.params.parts import Parts
from radrl.parts.builtin import BUILTIN
from radrl.parts.find import find, names
from radrl.rewards.base import InTheSum

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
