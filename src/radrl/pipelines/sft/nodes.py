"""Nodes of the stage sft."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.dataset as ds

from radrl.data import corpus as corpora


def cold_start(
    corpus: ds.Dataset,
    base: Path,
    settings: dict[str, Any],
    dtype: str,
    prompt: str,
    seed: int,
    threads: int,
    device: str,
    workspace: Path,
    step_report: Callable[..., None],
) -> tuple[Callable[[Path], None], pd.DataFrame]:
    """Fine-tune the base policy on the training reports.

    Args:
        corpus: the films; the split `train` is read.
        base: the base policy's folder.
        settings: the section `sft`.
        dtype: of the weights that do not train.
        prompt: the instruction.
        seed: of shuffling.
        threads: of torch.
        device: where the policy trains.
        workspace: checkpoints.
        step_report: told each step's numbers.

    Returns:
        What writes the policy's folder, and the training curve.
    """
    from radrl.policy import folder
    from radrl.process.devices import place
    from radrl.process.runtime import pin
    from radrl.storage.workspaces import claim, digest_rows, fingerprint
    from radrl.training.preflight import check_supervised, check_targets
    from radrl.training.resume import writing
    from radrl.training.supervised.fine_tuning import Examples, fine_tune

    where = place(device)
    pin(threads, where)
    check_supervised(settings, "sft", device=where)
    if settings["tunes"] == "lora":
        check_targets(base, settings["lora"]["targets"], "sft.lora")
    frame = corpora.read(corpus, split="train", columns=["sample_id", "images", "report"])
    work = {"settings": settings, "dtype": dtype, "prompt": prompt, "seed": seed, "threads": threads}
    claim(workspace, fingerprint(work | {"device": device, "films": digest_rows(frame)}, base))
    policy, curve = fine_tune(
        folder.load(base),
        Examples.asking(prompt, frame["images"].tolist(), frame["report"].tolist()),
        settings=settings,
        seed=seed,
        device=where,
        workspace=workspace,
        tunes=settings["tunes"],
        dtype=dtype,
        report=step_report,
    )
    return writing(policy, workspace), pd.DataFrame(curve)
