"""How the study was made: data, commit, machine, time and rollouts."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from radrl.pipelines.stages import LAST
from radrl.training import course

if TYPE_CHECKING:
    from radrl.storage.origins import Origin

UNKNOWN: Final = "not recorded"


@dataclass(frozen=True, slots=True)
class Trained:
    """What an arm's training spent.

    Args:
        updates: optimiser steps; 0 of an arm that hands its start on.
        rollouts: reports sampled while it trained.
        cpu: minutes of all cores; nothing where nobody noted them.
        minutes: of the clock; nothing likewise.
        commit: at which it ran; empty where nobody noted it.
    """

    updates: int
    rollouts: int
    cpu: float | None
    minutes: float | None
    commit: str


@dataclass(frozen=True, slots=True)
class Made:
    """What the page's header says of how it was made.

    Args:
        facts: by what they are, in words.
        arms: what each arm's training spent, in the order of the arms.
    """

    facts: Mapping[str, str]
    arms: Mapping[str, Trained]


def made(
    arms: Mapping[str, Any],
    training: Mapping[str, Any],
    histories: Mapping[str, pd.DataFrame],
    films: pd.DataFrame,
    *,
    seed: int,
    cpu_seconds: Mapping[str, float],
    origins: Mapping[str, Origin],
) -> Made:
    """Tell how the study was made, as far as it was noted.

    Args:
        arms: the section `arms`.
        training: the section `training`.
        histories: by arm that trained, its curve.
        films: any arm's reports.
        seed: of the study.
        cpu_seconds: by stage.
        origins: by stage, that of the comparison itself among them.
    """
    spent = {
        arm: _trained(
            arm, course.of_arm(training, own.get("training") or {}), histories, cpu_seconds, origins
        )
        for arm, own in arms.items()
    }
    learnt = {arm: own for arm, own in spent.items() if own.updates}
    here = origins.get(LAST)
    facts = {
        "Commit": said(here.commit) if here else UNKNOWN,
        "Arms trained at": listed(said(own.commit) for own in learnt.values())
        if learnt
        else "no arm trained",
        "Releases": ", ".join(f"{name} {own}" for name, own in here.releases.items()) if here else UNKNOWN,
        "Machine": here.machine if here else UNKNOWN,
        "Arms trained on": listed(_machine(origins.get(f"train@{arm}")) for arm in learnt),
        "Wall time of an arm’s training": _minutes([own.minutes for own in learnt.values()]),
        "Rollouts an arm": spans([own.rollouts for own in learnt.values()], ",.0f") if learnt else "none",
        "Seed": str(seed),
        "Digest of the scored films": data_digest(films),
    }
    return Made({name: text for name, text in facts.items() if text}, spent)


def said(commit: str) -> str:
    """A commit in words.

    Args:
        commit: of `radrl.storage.origins.Origin`.

    Example:
        >>> said("7fc27e5886+"), said("")
        ('7fc27e5886 with changes', 'not recorded')
    """
    return f"{commit.removesuffix('+')} with changes" if commit.endswith("+") else commit or UNKNOWN


def _trained(
    arm: str,
    settings: Mapping[str, Any],
    histories: Mapping[str, pd.DataFrame],
    cpu_seconds: Mapping[str, float],
    origins: Mapping[str, Origin],
) -> Trained:
    """What an arm spent, its rollouts counted from the steps that its history has."""
    if arm not in histories:
        return Trained(0, 0, None, None, "")
    updates = int(histories[arm]["step"].max())
    batches = math.ceil(updates / settings["iterations"])
    stage = f"train@{arm}"
    origin = origins.get(stage)
    return Trained(
        updates,
        batches * settings["prompts_per_step"] * settings["rollouts"],
        cpu_seconds[stage] / 60 if stage in cpu_seconds else None,
        origin.minutes if origin else None,
        origin.commit if origin else "",
    )


def _machine(origin: Origin | None) -> str:
    return origin.machine if origin else ""


def _minutes(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{spans(known, '.1f')} minutes" if known else UNKNOWN if values else ""


def listed(values: Iterable[str]) -> str:
    """Each value once, in order; what is empty as `UNKNOWN`.

    Example:
        >>> listed(["a", "a", ""])
        'a; not recorded'
    """
    return "; ".join(dict.fromkeys(value or UNKNOWN for value in values))


def spans(values: Sequence[float], form: str) -> str:
    """The ends of some numbers, or the one they all are.

    Args:
        values: at least one.
        form: how a number is written, such as ",.0f".

    Example:
        >>> spans([1.25, 3.5], ".1f"), spans([3840, 3840], ",.0f")
        ('1.2 to 3.5', '3,840')
    """
    return " to ".join(dict.fromkeys(format(end, form) for end in (min(values), max(values))))


def data_digest(films: pd.DataFrame) -> str:
    """A digest of what was scored: ids, patients and references of the films, in the order of ids.

    Args:
        films: any arm's reports.

    Returns:
        Twelve hexadecimal digits of SHA-256.
    """
    columns = ["sample_id", "patient_id", "reference"]
    digest = hashlib.sha256()
    for row in films[columns].sort_values("sample_id").itertuples(index=False):
        digest.update("\x1f".join(map(str, row)).encode() + b"\x1e")
    return digest.hexdigest()[:12]
