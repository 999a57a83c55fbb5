"""Learning from rewards: group-relative policy optimisation with credit and oracle; what an arm trains by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ArmSettings:
    """What one arm trains by.

    Args:
        arm: its entry under `arms`.
        training: the section `training`, single keys overridden by the arm's own.
        labeler: the section `labeler`.
        dtype: of the weights that do not train.
        prompt: the instruction for the arm's form of output, which may have places (`radrl.reports.prompts`).
        seed: of the order of films and of rollouts.
        threads: of torch.
        device: where the policy trains and its labelers read.
    """

    arm: dict[str, Any]
    training: dict[str, Any]
    labeler: dict[str, Any]
    dtype: str
    prompt: str
    seed: int
    threads: int
    device: str

    @property
    def form(self) -> str:
        """What the policy writes, one of `radrl.reports.output.FORMS`."""
        return str(self.arm.get("output", "plain"))
