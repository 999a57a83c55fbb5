"""The laptop policy from nothing: a tokenizer, a tower that learns to look, a whole that learns to write.

A general pretrained model looks at pictures and speaks of them, but has hardly seen radiographs. The laptop
policy gets the same handicap: nearly all its pretraining films are photographic negatives. It learns to look
and to speak on these, and the share of films as they are is how much of radiography it has seen by the way.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from PIL import Image, ImageOps

from radrl.policy import folder, tiny
from radrl.policy.encoding import Films
from radrl.policy.folder import Policy
from radrl.policy.writer import Prompt, of_each
from radrl.reports.output import write
from radrl.storage.whole_files import replacing
from radrl.training import device_placement
from radrl.training.callbacks import Report, silent
from radrl.training.supervised.fine_tuning import Examples, fine_tune
from radrl.training.supervised.vision import learn_phrases


def films_of(studies: Sequence[Sequence[bytes]], *, radiographs: float, seed: int) -> list[list[bytes]]:
    """Turn all films but those of a drawn share of the studies into negatives.

    Args:
        studies: the films of N studies as PNG bytes.
        radiographs: the share of studies whose films stay as they are.
        seed: of the draw.

    Returns:
        The films of N studies.
    """
    order = np.random.default_rng(seed).permutation(len(studies))
    kept = set(order[: round(radiographs * len(studies))].tolist())
    return [
        list(own) if number in kept else [negative(film) for film in own]
        for number, own in enumerate(studies)
    ]


def negative(film: bytes) -> bytes:
    """A film as a photographic negative.

    Args:
        film: PNG bytes.

    Returns:
        PNG bytes.
    """
    stream = io.BytesIO()
    ImageOps.invert(Image.open(io.BytesIO(film))).save(stream, format="PNG", compress_level=1)
    return stream.getvalue()


def asked_and_answered(
    frame: pd.DataFrame, prompts: Mapping[str, Prompt], settings: Mapping[str, float], *, seed: int
) -> pd.DataFrame:
    """What the laptop policy is asked in pretraining, and what it should write.

    A share is asked for reasoning and report, and some of the answers have that form, with the impression as
    the reasoning, while the others are the plain report: an instruction that is obeyed at times. So MRG-R1's
    format reward has something to amplify, and nothing to do under the plain instruction.

    Args:
        frame: the pretraining split, with report and impression.
        prompts: the instruction for each form of output, or one a row.
        settings: `share` asked so, and the share of these answers that `obeyed`.
        seed: of the draw, among studies with an impression.

    Returns:
        prompt and text, a row a row of `frame`.
    """
    every = {form: pd.Series(of_each(own, len(frame)), frame.index) for form, own in prompts.items()}
    lessons = pd.DataFrame({"prompt": every["plain"], "text": frame["report"]}, index=frame.index)
    able = frame.index[frame["impression"].notna()].to_numpy(copy=True)  # permuted in place if empty
    asked = np.random.default_rng(seed).permutation(able)[: round(settings["share"] * len(frame))]
    obeyed = asked[: round(settings["obeyed"] * len(asked))]
    lessons.loc[asked, "prompt"] = every["think_report"].loc[asked]
    answers = map(write, frame.loc[obeyed, "impression"], frame.loc[obeyed, "report"])
    lessons.loc[obeyed, "text"] = list(answers)
    return lessons


LOOKING = "looking"
"""In the workspace: the policy after its tower has learnt phrases, before it learns to write."""


def pretrained(
    studies: pd.DataFrame,
    shown: Sequence[Films],
    *,
    settings: Mapping[str, Any],
    image_size: int,
    prompts: Mapping[str, Prompt],
    seed: int,
    device: torch.device = device_placement.CPU,
    workspace: Path,
    report: Report = silent,
) -> tuple[Policy, list[dict[str, float]]]:
    """Build the laptop policy and pretrain it.

    Args:
        studies: report and impression, a row a study.
        shown: their films.
        settings: the section `policy`, with `dtype`, `tiny`, `radiographs`, `vision` and `pretrain`.
        image_size: side of the films in pixels.
        prompts: the instruction for each form of output, or one a study.
        seed: of the weights, the films' polarity, what is asked, and training.
        device: where it trains.
        workspace: a folder of this work alone; a run that was killed goes on from what is in it.
        report: told each step's numbers.

    Returns:
        The policy and the curve of its learning to write.
    """
    pretrain = settings["pretrain"]
    lessons = asked_and_answered(studies, prompts, pretrain["think_report"], seed=seed)
    films = films_of(shown, radiographs=settings["radiographs"], seed=seed)
    looking = workspace / LOOKING
    if not looking.is_dir():
        asked = ([own] if isinstance(own, str) else own for own in prompts.values())
        texts = [*chain(*asked), *lessons["text"]]
        tokenizer = tiny.train_tokenizer(texts, settings["tiny"]["vocab_size"])
        policy = tiny.build(tokenizer, image_size=image_size, shape=settings["tiny"], seed=seed)
        policy.model.to(device)
        seen = [(film, text) for own, text in zip(films, studies["report"], strict=True) for film in own]
        learn_phrases(policy, *zip(*seen, strict=True), settings=settings["vision"], seed=seed, report=report)
        with replacing(looking) as unfinished:
            folder.save(policy, unfinished)
    return fine_tune(
        folder.load(looking),
        Examples(films, lessons["prompt"].tolist(), lessons["text"].tolist()),
        settings=pretrain,
        seed=seed,
        device=device,
        workspace=workspace,
        tunes=pretrain["tunes"],
        dtype=settings["dtype"],
        report=report,
    )
