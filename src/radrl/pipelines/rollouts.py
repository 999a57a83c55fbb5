"""The stage rollouts: K samples a training film."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from kedro.pipeline import Pipeline, node, pipeline

from radrl.data import corpus as corpora
from radrl.data.prompts import of_split


def sample_rollouts(
    corpus: ds.Dataset,
    start: Path,
    settings: dict[str, Any],
    dtype: str,
    prompt: str,
    seed: int,
    threads: int,
    device: str,
    workspace: Path,
    compute: Mapping[str, Any] | None = None,
) -> Iterator[pa.Table]:
    """Draw K nucleus samples of each training film from the cold-started policy (DEER, before eq. 3).

    Shards that a killed run finished are kept; each film has draws of its own, so going on gives the
    same rollouts as never having stopped.

    Args:
        corpus: the films; the split `train` is read.
        start: the cold-started policy's folder.
        settings: the section `rollouts`.
        dtype: of the weights.
        prompt: the instruction, which may have places (`radrl.reports.prompts`).
        seed: of the draws.
        threads: of torch.
        device: where the policy computes.
        workspace: finished shards.
        compute: the workers that draw, and how an engine in a process of its own is run; nothing for this
            process and its defaults.

    Returns:
        Shards with sample_id, rollout (0 to K - 1) and report, made as they are asked for.
    """
    from radrl.policy.engines import open_writer
    from radrl.policy.sampling import Sampling, sample_shards
    from radrl.storage.workspaces import claim, fingerprint

    frame = corpora.read(corpus, split="train", columns=["sample_id"])
    films = corpora.Films(corpus, "train")
    work = {"settings": settings, "dtype": dtype, "prompt": prompt, "seed": seed, "threads": threads}
    claim(workspace, fingerprint(work | {"device": device, "films": films.digest()}, start))
    asked = of_split(corpus, "train", prompt)
    sampling = Sampling(frame["sample_id"].tolist(), films, asked, settings, seed, workspace)
    opening = partial(
        open_writer, settings["engine"], start, dtype=dtype, device=device, threads=threads, compute=compute
    )
    return sample_shards(sampling, opening, compute, device=device)


def create_pipeline() -> Pipeline:
    """Training films, cold-started policy -> K reports a film."""
    return pipeline(
        [
            node(
                sample_rollouts,
                {
                    "corpus": "corpus",
                    "start": "sft_policy",
                    "settings": "params:rollouts",
                    "dtype": "params:policy.dtype",
                    "prompt": "params:prompts.plain",
                    "seed": "params:seed",
                    "threads": "params:threads",
                    "device": "params:device",
                    "workspace": "rollouts_workspace",
                    "compute": "compute",
                },
                "rollouts",
                name="sample_rollouts",
            )
        ]
    )
