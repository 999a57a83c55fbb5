"""Token weights as coloured text: DEER, figure 3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from radrl.algorithms.f_measure import BoolArray, FloatArray
from radrl.evaluation.draws import Draw, generator
from radrl.pages import examples
from radrl.pages.page import banner, environment
from radrl.pipelines.analyses.groups import AnalysisSettings
from radrl.pipelines.analyses.masking import heaviest

if TYPE_CHECKING:
    from radrl.algorithms.saliency import Spans
    from radrl.credit.base import Rollouts, TokenWeights

STRONGEST: Final = 0.62
"""Opacity of the full colour; ink stays readable on it, on white paper and on a dark screen."""
TITLES: Final = {"tf_idf": "TF-IDF", "gradient": "Gradient"}
_TEMPLATE: Final = Path(__file__).with_name("page.html.j2")


@dataclass(frozen=True, slots=True)
class Piece:
    """Some characters of a report under one colour.

    Args:
        text: the characters.
        weight: of their token; nothing for characters of no token.
        opacity: of the colour, in [0, 1].
        heavy: whether the token is among those that masking takes.
    """

    text: str
    weight: float | None
    opacity: float
    heavy: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """A film, its reference and a rollout, and the rollout under each strategy's weights.

    Args:
        example: film, reference and rollout with their labels.
        coloured: pieces of the rollout by strategy.
    """

    example: examples.Example
    coloured: dict[str, list[Piece]]


@dataclass(frozen=True, slots=True)
class Coloured:
    """The first rollouts of films under each strategy's weights.

    Args:
        films: of each film the pieces of its first rollout by strategy.
        tops: by strategy, the weight that has the full colour.
    """

    films: list[dict[str, list[Piece]]]
    tops: dict[str, float]


def colour(rollouts: Rollouts, weights: Mapping[str, TokenWeights], *, share: float, seed: int) -> Coloured:
    """Colour the first rollout of each film.

    Args:
        rollouts: the K rollouts of F films.
        weights: of their tokens, by strategy.
        share: of a report's tokens that masking takes.
        seed: decides between equal weights.

    Returns:
        F films.
    """
    outputs = rollouts.outputs[:: rollouts.group]
    films: list[dict[str, list[Piece]]] = [{} for _ in outputs]
    tops: dict[str, float] = {}
    for name, all_of in weights.items():
        values, spans = all_of.values[:: rollouts.group], all_of.spans[:: rollouts.group]
        tops[name] = scale_top(values)
        heavy = heaviest(values, spans, share=share, rng=generator(seed, Draw.MASKED_TOKENS))
        for film, text, places, own, marked in zip(films, outputs, spans, values, heavy, strict=True):
            film[name] = pieces(text, places, own, marked, top=tops[name])
    return Coloured(films, tops)


def show(first: pd.DataFrame, pictures: Mapping[str, Sequence[bytes]], coloured: Coloured) -> list[Shown]:
    """Put films, references and first rollouts together.

    Args:
        first: of `groups.label_first`, F rows.
        pictures: the films as PNG, by sample_id.
        coloured: the same rollouts.

    Returns:
        F films.
    """
    return [
        Shown(examples.show(film, pictures[film], {"rollout": first}), own)
        for film, own in zip(first["sample_id"], coloured.films, strict=True)
    ]


def pieces(text: str, spans: Spans, weights: FloatArray, heavy: BoolArray, *, top: float) -> list[Piece]:
    """Cut a report into its tokens and colour them.

    Args:
        text: the report.
        spans: places of its T tokens in characters, shape (T, 2).
        weights: of the tokens, at least 1, shape (T,).
        heavy: which are masked, shape (T,).
        top: the weight that has the full colour; heavier ones have it too.

    Returns:
        Pieces whose texts, joined, are the report; a character that tokens share goes to the first.
    """
    found: list[Piece] = []
    at = 0
    for (start, end), weight, marked in zip(spans.tolist(), weights.tolist(), heavy.tolist(), strict=True):
        if end <= max(start, at):
            continue
        word = text[max(start, at) : end].lstrip()  # the blank before it is left without colour
        if at < end - len(word):
            found.append(Piece(text[at : end - len(word)], None, 0.0, False))
        if word:
            share = min(1.0, (weight - 1) / (top - 1)) if top > 1 else 0.0
            found.append(Piece(word, weight, STRONGEST * share, marked))
        at = end
    return found + ([Piece(text[at:], None, 0.0, False)] if at < len(text) else [])


def scale_top(weights: Sequence[FloatArray]) -> float:
    """The weight that has the full colour: the 99th percentile of those shown, 1 where there are none."""
    together = np.concatenate([np.ones(1), *weights])
    return float(np.quantile(together, 0.99))


def render(
    shown: Sequence[Shown],
    tops: Mapping[str, float],
    absent: Mapping[str, str],
    ingest_summary: Mapping[str, Any],
    settings: AnalysisSettings,
) -> str:
    """Write the page.

    Args:
        shown: films.
        tops: the weight of the full colour by strategy.
        absent: why strategies are left out.
        ingest_summary: counts of the stage ingest.
        settings: the labeler, the credit that is printed below, and the share of the tokens masked.

    Returns:
        One page that needs nothing else.
    """
    return environment().from_string(_TEMPLATE.read_text(encoding="utf-8")).render(
        banner=banner(ingest_summary),
        shown=shown,
        titles=TITLES,
        legends={name: _legend(top) for name, top in tops.items()},
        labeler=settings.labeler["name"],
        credit=settings.analyses["credit"],
        share=f"{settings.analyses['masking']['share']:.0%}",
        absent=absent,
        verdicts=examples.VERDICTS,
    ) + "\n"  # fmt: skip


def _legend(top: float) -> list[tuple[float, str]]:
    """Opacities from none to the full colour, and the weights that have them."""
    return [(STRONGEST * step, f"{1 + step * (top - 1):.2f}") for step in (0.0, 0.25, 0.5, 0.75, 1.0)]
