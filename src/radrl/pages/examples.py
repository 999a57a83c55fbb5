"""Films of a page: the reference and every arm's report side by side, label by label."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd
from PIL import Image

from radrl.evaluation.label_agreement import ASSERTED, finding_verdicts
from radrl.observations import OBSERVATIONS, UNCERTAIN

LARGEST: Final = 384
"""Pixels of the longer side of a film on the page."""

VERDICTS: Final = {"right": "✓", "hedged": "~", "missed": "−", "wrong": "+", "stated": ""}
"""The sign before a label, so that nothing depends on colour alone."""


@dataclass(frozen=True, slots=True)
class Chip:
    """One observation of one report.

    Args:
        observation: its name.
        verdict: right, hedged, missed or wrong, or stated for the reference itself.
    """

    observation: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Answer:
    """One report on a film.

    Args:
        arm: who wrote it; nothing for the reference.
        text: the report.
        chips: its observations, held against the reference's.
        facts: of an arm that is rewarded for facts, a line a label: observation, reference, verdict, facts.
    """

    arm: str | None
    text: str
    chips: list[Chip]
    facts: Sequence[Any] = ()


@dataclass(frozen=True, slots=True)
class Example:
    """A film with all reports on it.

    Args:
        sample_id: its id.
        pictures: the films as data URIs.
        answers: the reference first.
    """

    sample_id: str
    pictures: list[str]
    answers: list[Answer]


def show(
    sample_id: str,
    films: Sequence[bytes],
    arms: Mapping[str, pd.DataFrame],
    facts: Mapping[str, Mapping[str, Sequence[Any]]] | None = None,
) -> Example:
    """Put the reports on a sample side by side.

    Args:
        sample_id: which.
        films: as PNG.
        arms: by arm, its reports.
        facts: by arm and sample_id, what `Answer.facts` holds; only of arms that are rewarded for facts.

    Returns:
        The example.
    """
    rows = {arm: frame.loc[frame["sample_id"] == sample_id].iloc[0] for arm, frame in arms.items()}
    any_row = next(iter(rows.values()))
    truth = [int(label) for label in any_row["reference_labels"]]
    stated = [
        Chip(f"{name}?" if label == UNCERTAIN else name, "stated")
        for name, label in zip(OBSERVATIONS, truth, strict=True)
        if label in ASSERTED
    ]
    answers = [Answer(None, any_row["reference"], stated)]
    for arm, row in rows.items():
        known = (facts or {}).get(arm, {}).get(sample_id, ())
        chips = [Chip(name, verdict) for name, verdict in finding_verdicts(truth, row["labels"]).items()]
        answers.append(Answer(arm, row["report"], chips, known))
    return Example(sample_id, [data_uri(film) for film in films], answers)


def data_uri(film: bytes) -> str:
    """A film as a page holds it, at most `LARGEST` pixels a side.

    Args:
        film: as PNG.
    """
    image = Image.open(io.BytesIO(film))
    if max(image.size) > LARGEST:
        image.thumbnail((LARGEST, LARGEST), Image.Resampling.LANCZOS)
        buffer = io.BytesIO()
        image.save(buffer, format="PNG")
        film = buffer.getvalue()
    return f"data:image/png;base64,{base64.b64encode(film).decode()}"
