"""What the laptop policy is pretrained on: pictures that are hardly radiographs, and what is asked of them.

A general pretrained model looks at pictures and speaks of them, but has hardly seen radiographs. The laptop
policy gets the same handicap: nearly all its pretraining films are photographic negatives. It learns to look
and to speak on these, and the share of films as they are is how much of radiography it has seen by the way.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from PIL import Image, ImageOps

from radrl.policy.writer import Prompt, of_each
from radrl.reports.output import write


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
