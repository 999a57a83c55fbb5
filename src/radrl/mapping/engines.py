"""The engine that params.yaml names: this process, several of this machine, or Ray's actors."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from typing import Any

from tqdm import tqdm

from radrl.mapping import local
from radrl.mapping.base import Result, Shard, State, Work


def mapped(
    work: Work[State, Shard, Result],
    shards: Sequence[Shard],
    compute: Mapping[str, Any] | None = None,
    *,
    device: str = "cpu",
    done: int = 0,
    unit: str = "shards",
) -> Generator[Result]:
    """Do every shard once, whoever dies meanwhile.

    Args:
        work: what is done; the same results whatever the engine and the number of workers.
        shards: what it is done to, each small: where rows are rather than the rows.
        compute: the section `compute` of params.yaml; nothing for this process alone.
        device: where workers compute, as params.yaml's `device`; each takes an accelerator of its own.
        done: shards that an earlier run has finished, for the progress bar.
        unit: what a shard is, for the bar.

    Yields:
        Results in the order of the shards, as they are asked for; of those to come few are held.

    Raises:
        WorkerDied: when a shard's worker died again and again.
        EngineMissing: when Ray is asked for and not installed.
        Exception: what the work itself raises.
    """
    if not shards:
        return
    total = len(shards) + done
    with (
        closing(_results(work, shards, compute or {}, device)) as results,
        tqdm(total=total, initial=done, desc=work.name, unit=f" {unit}") as bar,
    ):
        for result in results:
            bar.update()
            yield result


def _results(
    work: Work[State, Shard, Result], shards: Sequence[Shard], compute: Mapping[str, Any], device: str
) -> Generator[Result]:
    workers = compute.get("workers", 1)
    if compute.get("engine", "local") == "ray":
        from radrl.mapping import on_ray

        return on_ray.mapped(work, shards, workers=workers, device=device)
    if workers == 1:
        return local.here(work, shards)
    return local.mapped(work, shards, workers=workers, device=device)
