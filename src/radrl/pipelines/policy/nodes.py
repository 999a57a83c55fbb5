"""Nodes of the stage policy."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

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
    from radrl.training.resume import writing
    from radrl.training.supervised import Examples, fine_tune
    from radrl.training.vision import learn_words
    from radrl.workspaces import claim, digest_rows, fingerprint

    pin(threads)
    frame = corpora.read(corpus, split="pretrain", columns=["sample_id", "images", "report", "impression"])
    work = {"settings": settings, "image_size": image_size, "prompt": prompt, "seed": seed}
    claim(workspace, fingerprint(work | {"threads": threads, "films": digest_rows(frame)}))
    captions = frame["impression"].fillna(frame["report"]).tolist()
    tokenizer = tiny.train_tokenizer([prompt, *frame["report"]], settings["tiny"]["vocab_size"])
    policy = tiny.build(tokenizer, image_size=image_size, shape=settings["tiny"], seed=seed)
    films = [[negative(film) for film in own] for own in frame["images"]]
    captioned = [(film, caption) for own, caption in zip(films, captions, strict=True) for film in own]
    learn_words(policy, *zip(*captioned, strict=True), settings=settings["vision"], seed=seed)
    policy, curve = fine_tune(
        policy,
        Examples.asking(prompt, films, frame["report"].tolist()),
        settings=settings["pretrain"],
        seed=seed,
        workspace=workspace,
        tunes="language",
        report=step_report,
    )
    return writing(policy, workspace), pd.DataFrame(curve)


def negative(film: bytes) -> bytes:
    """A film as a photographic negative: what the laptop policy is pretrained on.

    A general pretrained model looks at pictures and speaks of them, but has hardly seen radiographs.
    Negatives give the laptop policy the same handicap: its language model is used to a vision tower that
    understands, and on films the tower does not, which is where the cold start begins.

    Args:
        film: PNG bytes.

    Returns:
        PNG bytes.
    """
    from PIL import Image, ImageOps

    stream = io.BytesIO()
    ImageOps.invert(Image.open(io.BytesIO(film))).save(stream, format="PNG")
    return stream.getvalue()
