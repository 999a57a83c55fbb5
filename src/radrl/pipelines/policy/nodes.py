"""Nodes of the stage policy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.dataset as ds

from radrl.data import corpus as corpora


def make_base_policy(
    corpus: ds.Dataset,
    settings: dict[str, Any],
    image_size: int,
    prompt: str,
    seed: int,
    threads: int,
    workspace: Path,
    step_report: Callable[..., None],
) -> tuple[Callable[[Path], None], pd.DataFrame]:
    """Point at local weights, or build the laptop policy and pretrain it on a split of its own.

    Args:
        corpus: the films; only the split `pretrain` is read.
        settings: the section `policy`.
        image_size: pixels.
        prompt: the instruction.
        seed: of the weights and of training.
        threads: of torch.
        workspace: checkpoints.
        step_report: told each step's numbers.

    Returns:
        What writes the policy's folder, and the training curve (empty for local weights).
    """
    from radrl.policy import folder

    if settings["path"] is not None:
        return partial(folder.write_pointer, Path(settings["path"])), pd.DataFrame({"step": []})

    from radrl.policy import tiny
    from radrl.runtime import pin
    from radrl.training.resume import claim, fingerprint, writing
    from radrl.training.supervised import Examples, fine_tune

    pin(threads)
    frame = corpora.read(corpus, split="pretrain", columns=["film_id", "image", "report"])
    claim(workspace, fingerprint({"settings": settings, "seed": seed, "films": frame["film_id"].tolist()}))
    tokenizer = tiny.train_tokenizer([prompt, *frame["report"]], settings["tiny"]["vocab_size"])
    films = mismatch(frame["image"].tolist(), settings["pretrain"]["mismatched_share"], seed)
    policy, curve = fine_tune(
        tiny.build(tokenizer, image_size=image_size, shape=settings["tiny"], seed=seed),
        Examples(films, frame["report"].tolist()),
        prompt=prompt,
        settings=settings["pretrain"],
        seed=seed,
        workspace=workspace,
        report=step_report,
    )
    return writing(policy, workspace), pd.DataFrame(curve)


def mismatch(films: list[bytes], share: float, seed: int) -> list[bytes]:
    """Set a share of the films beside other reports, as pictures stand beside text on the web.

    A policy pretrained so speaks the language of reports and looks at films, but can hardly read them, which
    is where the papers' base models stand.

    Args:
        films: N films.
        share: of them that change places among themselves.
        seed: of the draw.

    Returns:
        N films, the same ones in another order.
    """
    rng = np.random.default_rng(seed)
    moved = rng.permutation(len(films))[: round(share * len(films))]
    order = np.arange(len(films))
    order[np.sort(moved)] = moved
    return [films[i] for i in order]
