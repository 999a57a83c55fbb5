"""What the histories of the arms that trained say: what goes wrong, and whether they had levelled off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from radrl.pipelines.compare.arms import ArmTables

if TYPE_CHECKING:
    from radrl.training.watching.diagnosis import Finding
    from radrl.training.watching.levelling import Levelling


@dataclass(frozen=True, slots=True)
class HistoryRead:
    """What one arm's history says.

    Args:
        findings: gravest first.
        levelling: the end of its curve.
    """

    findings: Sequence[Finding]
    levelling: Levelling


def read_histories(arm_histories: ArmTables, arms: Mapping[str, Any]) -> dict[str, HistoryRead]:
    """Read the histories.

    Args:
        arm_histories: of `radrl.pipelines.compare.arms.gather_histories`.
        arms: the section `arms`, so that nobody is told to do what an arm does.

    Returns:
        By arm that trained.
    """
    from radrl.training.watching.diagnosis import diagnose
    from radrl.training.watching.levelling import levelling

    rows = {arm: history.to_dict("records") for arm, history in arm_histories.items()}
    return {arm: HistoryRead(diagnose(own, arms.get(arm)), levelling(own)) for arm, own in rows.items()}
