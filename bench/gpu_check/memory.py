"""What a training and a batch of reports hold, beside what `radrl plan` says."""

from __future__ import annotations

from typing import Any

from grpo_steps import policies
from grpo_steps.measure import Job

from gpu_check import speed
from gpu_check.parts import Keep
from gpu_check.setup import Setup
from radrl.plan import memory, peak_memory, shapes
from radrl.plan.counts import Sample, patches


def measure(setup: Setup, keep: Keep) -> None:
    """Adapters of DEER's recipe on a base in the policy's dtype; the other rows are of the parts before."""
    changed = {"tunes": "lora"}
    own = speed.tried_apart(setup, "shared", 8, changed)
    if "failed" in own:
        raise RuntimeError(own["failed"])
    planned_bytes = planned(speed.job(setup, 8, changed))
    keep({"rows": [{"training": "adapters, G 8", "memory": own["memory"], "planned": planned_bytes}]})


def planned(job: Job) -> int:
    """Bytes that `radrl plan` says a training has at its fullest.

    On a CPU what it adds to a process that has policy and start already, as is measured there.
    """
    settings = job.settings
    model, own = _model(job, settings), _setting(job)
    prompt = policies.prompt_tokens(policies.reads(job.start, job.cell.size), job.prompts)
    longest = int(settings["max_new_tokens"])
    sample = Sample(1, patches(job.cell.size, patch=14, merge=2), prompt, longest)
    moments = peak_memory.of_training(model, own, settings, sample, tunes=settings["tunes"])
    whole = max(sum(items.values()) for items in moments.values())
    if own.accelerator:
        return whole
    held = memory.persistent_bytes(model.weights, own)
    return whole - held["weights"] - held["frozen start"]


def _model(job: Job, settings: Any) -> peak_memory.Model:
    shape = shapes.of_folder(job.start)
    lora = settings["lora"] if settings["tunes"] == "lora" else None
    counted = shapes.count(shapes.model(shape), settings["tunes"], lora)
    return peak_memory.Model(shape.sizes, counted.weights, counted.adapted, int(lora["rank"]) if lora else 0)


def _setting(job: Job) -> memory.Setting:
    return memory.Setting(
        frozen_bytes=4 if job.dtype == "float32" else 2,
        autocast=bool(job.settings["bf16"]),
        start=bool(job.settings["kl"]),
        checkpointing=job.settings["gradient_checkpointing"],
        accelerator=job.device != "cpu",
    )


def writing_planned(setup: Setup, films: int, prompt: int) -> int:
    """Bytes that `radrl plan` says a policy takes that only writes a step's rollouts."""
    shape = shapes.of_folder(setup.start())
    counted = shapes.count(shapes.model(shape), None)
    own = memory.Setting(4 if setup.dtype == "float32" else 2, autocast=False)
    sample = Sample(1, patches(setup.size, patch=14, merge=2), prompt, setup.tokens)
    model = peak_memory.Model(shape.sizes, counted.weights, counted.adapted)
    items = peak_memory.of_reports(model, own, sample, films=films, rows=setup.rows, longest=setup.tokens)
    return sum(items.values())
