"""Nodes of the stage policy."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.dataset as ds

from radrl.data import corpus as corpora
from radrl.reports.think_report import write


def make_base_policy(
    corpus: ds.Dataset,
    settings: dict[str, Any],
    image_size: int,
    prompts: dict[str, str],
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
        prompts: the instruction for each form of output.
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
    from radrl.training.supervised import Example, Examples, fine_tune
    from radrl.training.vision import learn_words
    from radrl.workspaces import claim, digest_rows, fingerprint

    pin(threads)
    frame = corpora.read(corpus, split="pretrain", columns=["sample_id", "images", "report", "impression"])
    work = {"settings": settings, "image_size": image_size, "prompts": prompts, "seed": seed}
    claim(workspace, fingerprint(work | {"threads": threads, "films": digest_rows(frame)}))
    captions = frame["impression"].fillna(frame["report"]).tolist()
    lessons = _lessons(frame, prompts, settings["pretrain"]["think_report"], seed=seed)
    tokenizer = tiny.train_tokenizer([*prompts.values(), *lessons["text"]], settings["tiny"]["vocab_size"])
    policy = tiny.build(tokenizer, image_size=image_size, shape=settings["tiny"], seed=seed)
    films = [[negative(film) for film in own] for own in frame["images"]]
    captioned = [(film, caption) for own, caption in zip(films, captions, strict=True) for film in own]
    learn_words(policy, *zip(*captioned, strict=True), settings=settings["vision"], seed=seed)
    policy, curve = fine_tune(
        policy,
        Examples(list(map(Example, films, lessons["prompt"], lessons["text"]))),
        settings=settings["pretrain"],
        seed=seed,
        workspace=workspace,
        tunes="language",
        report=step_report,
    )
    return writing(policy, workspace), pd.DataFrame(curve)


def _lessons(
    frame: pd.DataFrame, prompts: dict[str, str], settings: dict[str, float], *, seed: int
) -> pd.DataFrame:
    """What the laptop policy is asked in pretraining, and what it should write.

    A share is asked for reasoning and report, and some of the answers have that form, with the impression as
    the reasoning, while the others are the plain report: an instruction that is obeyed at times. So MRG-R1's
    format reward has something to amplify, and nothing to do under the plain instruction.

    Args:
        frame: the pretraining split.
        prompts: the instruction for each form of output.
        settings: `share` asked so, and the share of these answers that `obeyed`.
        seed: of the draw, among studies with an impression.

    Returns:
        prompt and text, a row a row of `frame`.
    """
    lessons = pd.DataFrame({"prompt": prompts["plain"], "text": frame["report"]}, index=frame.index)
    able = frame.index[frame["impression"].notna()].to_numpy()
    asked = np.random.default_rng(seed).permutation(able)[: round(settings["share"] * len(frame))]
    obeyed = asked[: round(settings["obeyed"] * len(asked))]
    lessons.loc[asked, "prompt"] = prompts["think_report"]
    answers = map(write, frame.loc[obeyed, "impression"], frame.loc[obeyed, "report"])
    lessons.loc[obeyed, "text"] = list(answers)
    return lessons


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
