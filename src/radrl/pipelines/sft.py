"""The stage sft: the cold start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.dataset as ds
from kedro.pipeline import Pipeline, node, pipeline


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
    compute: Mapping[str, Any] | None = None,
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
        compute: the processes that train; nothing for this one.

    Returns:
        What writes the policy's folder, and the training curve.
    """
    from radrl.training import launching
    from radrl.training.supervised.cold_start import ColdStart

    job = ColdStart(settings, dtype, prompt, seed, threads, device, corpus, base, workspace)
    return launching.train(job, compute, report=step_report)


def create_pipeline() -> Pipeline:
    """Base policy, training reports -> cold-started policy."""
    return pipeline(
        [
            node(
                cold_start,
                {
                    "corpus": "corpus",
                    "base": "base_policy",
                    "settings": "params:sft",
                    "dtype": "params:policy.dtype",
                    "prompt": "params:prompts.plain",
                    "seed": "params:seed",
                    "threads": "params:threads",
                    "device": "params:device",
                    "workspace": "sft_workspace",
                    "step_report": "step_report",
                    "compute": "compute",
                },
                ["sft_policy", "sft_history"],
                name="cold_start",
            )
        ]
    )
