"""Made-up training histories: a sound run, and what is changed in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from radrl.training.watching.diagnosis import diagnose

SOUND = {
    "loss": 0.002, "grad_norm": 0.3, "kl": 0.08, "entropy": 0.8, "reward": 0.4,
    "completions/clipped_ratio": 0.02, "groups/equal_advantage_share": 0.2, "groups/all_zero_share": 0.1,
}  # fmt: skip
LOOK = {
    "watch/ce_rules_sample14_f1": 0.4, "watch/ce_rules_macro14_f1": 0.1, "watch/ce_rules_micro14_f1": 0.35,
    "watch/repetition": 0.002, "watch/most_common_share": 0.15, "watch/like_normal_share": 0.3,
    "watch/like_normal_share_of_references": 0.28, "watch/findings_per_report": 0.6,
    "watch/findings_per_reference": 1.4,
}  # fmt: skip
Change = Callable[[float], dict[str, float]]
"""Of a share of the run that is done, what differs from a sound one."""


def run(change: Change = lambda share: {}, *, steps: int = 40, every: int = 10) -> list[dict[str, float]]:
    """A history, its watched films among its rows."""
    looks = [step for step in range(steps + 1) if step % every == 0]
    rows: list[dict[str, float]] = []
    for step in range(steps + 1):
        own = SOUND | LOOK | change(step / steps)
        kept = [k for k in own if (step if not k.startswith("watch/") else step in looks)]
        rows.append({"step": step} | {k: own[k] for k in kept})
    return rows


def line(name: str, first: float, last: float) -> Change:
    return lambda share: {name: first + share * (last - first)}


def both(*changes: Change) -> Change:
    return lambda share: {k: v for change in changes for k, v in change(share).items()}


def late(values: dict[str, float], since: float = 0.9) -> Change:
    return lambda share: values if share >= since else {}


CLIMB = line("reward", 0.4, 0.6)
EQUAL = {"groups/equal_advantage_share": 1.0}


def mend(change: Change, arm: dict[str, Any] | None) -> str:
    """What an arm is told of a history with one finding."""
    (finding,) = diagnose(run(change), arm)
    return finding.mend
