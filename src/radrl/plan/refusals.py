"""What cannot be: a stage that does not fit into a device, a step that processes cannot share; with mends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from radrl.plan.memory import GIB, Engine
from radrl.plan.stages import Job, Planned, Planner, Stage
from radrl.training.preflight import SettingsError


@dataclass(frozen=True, slots=True)
class Change:
    """One way to need less.

    Args:
        says: the key and the value it is to be set to.
        keys: of the stage's settings.
        engine: of the processes.
    """

    says: str
    keys: Mapping[str, Any]
    engine: Engine | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A stage that cannot be run.

    Args:
        stage: its name.
        why: what does not fit.
        mend: what would.
    """

    stage: str
    why: str
    mend: str

    def __str__(self) -> str:
        return f"{self.stage}: {self.why}; {self.mend}"


def room(planner: Planner, processes: int) -> float:
    """Bytes of a device that a stage of so many processes can have; on a CPU they share the machine's."""
    card = planner.asked.card
    memory = card.memory_gib or 0.0
    if card.name == "cpu":
        memory /= processes
    return (memory - card.reserve_gib) * GIB


def fits(planner: Planner, stage: Stage, planned: Planned, changes: Sequence[Change]) -> Refusal | None:
    """Why a stage does not fit into a device, and what would make it fit.

    Args:
        planner: of the recipe.
        stage: as the recipe has it.
        planned: plans it with some keys changed.
        changes: to try: each alone, then the first two, three, ... together.

    Returns:
        Nothing where it fits.
    """
    if stage.bytes <= (has := room(planner, stage.processes)):
        return None
    why = (
        f"{stage.fullest} takes {stage.bytes / GIB:.1f} GiB a device, {planner.asked.card.name} has "
        f"{has / GIB:.1f} beside its reserve ({largest(stage)})"
    )
    tried = [[change] for change in changes] + [list(changes[:end]) for end in range(2, len(changes) + 1)]
    for together in tried:
        keys: dict[str, Any] = {}
        for change in together:
            keys |= change.keys
        engine = next((change.engine for change in together if change.engine), None)
        other = planned(keys, engine)
        if other.bytes <= has:
            # of several sizes of one key the last counts
            said = " and ".join({tuple(change.keys): change.says for change in together}.values())
            return Refusal(stage.name, why, f"set {said} ({other.bytes / GIB:.1f} GiB)")
    least = min((planned(change.keys, change.engine).bytes for change in changes), default=stage.bytes)
    mend = f"take devices with more memory (this with one change: {least / GIB:.1f} GiB) or a smaller policy"
    return Refusal(stage.name, why, mend)


def largest(stage: Stage, number: int = 3) -> str:
    """The largest of what a stage holds, in words."""
    items = sorted(stage.items.items(), key=lambda own: -own[1])[:number]
    return ", ".join(f"{name} {count / GIB:.1f}" for name, count in items)


def changes(job: Job, processes: int, *, start: bool = False) -> list[Change]:
    """What a stage could do with less by, what changes no number first.

    Args:
        job: the stage.
        processes: that share its step.
        start: whether a device holds the frozen start for all of it.
    """
    settings, key = job.settings, job.key
    if job.kind == "writing" and settings["engine"] == "vllm":
        return []  # it takes what it is told to
    if job.kind == "writing":
        return _less(settings, "batch_size", key)
    if job.kind == "lessons":
        return _less(settings, "examples_at_once", key) + _of_weights(settings, processes, key)
    if job.kind != "training":
        return []
    found = _less(settings, "rollouts_at_once", key)
    if not settings["gradient_checkpointing"]:
        found.append(Change(f"{key}.gradient_checkpointing to true", {"gradient_checkpointing": True}))
    if start:
        found.append(Change("compute.frozen_start to host", {"frozen_start": "host"}))
    found += _of_weights(settings, processes, key)
    if settings["engine"] != "hf":
        or_less = ", or compute.vllm.gpu_memory lower" if settings["engine"] == "vllm" else ""
        found.append(Change(f"{key}.engine to hf{or_less}", {"engine": "hf"}))
    return found


def _less(settings: Mapping[str, Any], name: str, key: str) -> list[Change]:
    sizes, size = list[int](), settings[name]
    while size > 1:
        size //= 2
        sizes.append(size)
    return [Change(f"{key}.{name} to {size}", {name: size}) for size in sizes]


def _of_weights(settings: Mapping[str, Any], processes: int, key: str) -> list[Change]:
    found = []
    if processes > 1 and settings["tunes"] != "lora":
        found.append(Change("compute.config to conf/accelerate/fsdp2.yaml", {}, engine="fsdp2"))
    if settings["optimizer"] != "adamw_8bit":
        found.append(Change(f"{key}.optimizer to adamw_8bit", {"optimizer": "adamw_8bit"}))
    if settings["tunes"] != "lora":
        found.append(Change(f"{key}.tunes to lora", {"tunes": "lora"}))
    return found


def judged(planner: Planner, job: Job) -> tuple[Stage | None, list[Refusal]]:
    """A stage as it would run, and why it cannot.

    Args:
        planner: of the recipe.
        job: the stage.

    Returns:
        The stage, or nothing where processes cannot share its step; refusals, none where it can run.
    """
    try:
        stage = job.plan({}, None)
    except SettingsError as error:
        why, _, mend = str(error).partition("; ")
        mend = mend.replace("set it to", f"set {why.split()[0]} to")  # in a table the mend stands alone
        return None, [Refusal(job.name, why, mend)]
    start = stage.moments.get("update", {}).get("frozen start", 0) > 0
    refused = fits(planner, stage, job.plan, changes(job, planner.asked.devices, start=start))
    return stage, [] if refused is None else [refused]
