"""Tokens weighed by TF-IDF within a film's rollouts (DiTPO's rule; DEER, eq. 7 and 8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from radrl.algorithms.f_measure import BoolArray
from radrl.algorithms.saliency import Spans
from radrl.algorithms.tf_idf import InverseFrequency, TermFrequency, tf_idf_weights
from radrl.credit.base import Rollouts, TokenWeights, places_of
from radrl.parts.section import Section, takes

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from radrl.policy.spans import ByteLevelSpans


class TfIdfSection(Section):
    """DiTPO's rule: weights by TF-IDF within a film's rollouts (DEER, eq. 7 and 8)."""

    alpha: Annotated[float, Field(ge=0)]
    tf: TermFrequency
    idf: InverseFrequency


class TfIdf:
    """Tokens that few of an image's rollouts say weigh more: DEER, eq. 7 and 8 (DiTPO's rule).

    Counted are the tokens of the report, so that reasoning, tags and what is stripped keep a weight of 1.

    Args:
        spans: of the policy's tokenizer.
        alpha: strength, not negative.
        tf: form of the term frequency.
        idf: form of the inverse document frequency.
    """

    def __init__(
        self, spans: ByteLevelSpans, *, alpha: float, tf: TermFrequency, idf: InverseFrequency
    ) -> None:
        self.spans, self.alpha, self.tf, self.idf = spans, alpha, tf, idf

    def weigh(self, rollouts: Rollouts) -> TokenWeights:
        """See `radrl.credit.base.Credit`."""
        _whole_groups(rollouts)
        places = places_of(self.spans, rollouts)
        counted = _inside_reports(rollouts, places)
        size, width = len(rollouts.ids), max(map(len, rollouts.ids), default=0)
        ids, mask = np.zeros((size, width), np.int64), np.zeros((size, width), np.bool_)
        for row, own in enumerate(rollouts.ids):
            ids[row, : len(own)], mask[row, : len(own)] = own, counted[row]
        shape = (size // rollouts.group, rollouts.group, width)
        grouped = tf_idf_weights(
            ids.reshape(shape), mask.reshape(shape), alpha=self.alpha, tf=self.tf, idf=self.idf
        ).reshape(size, width)
        return TokenWeights([grouped[row, : len(own)] for row, own in enumerate(rollouts.ids)], places)


@takes(TfIdfSection)
def tf_idf(
    tokenizer: PreTrainedTokenizerBase, *, alpha: float, tf: TermFrequency, idf: InverseFrequency
) -> TfIdf:
    """Tokens that few of a film's rollouts say weigh more (DiTPO's rule; DEER, eq. 7 and 8).

    Args:
        tokenizer: the policy's.
        alpha: as `TfIdf` takes it.
        tf: as `TfIdf` takes it.
        idf: as `TfIdf` takes it.
    """
    from radrl.policy.spans import ByteLevelSpans

    return TfIdf(ByteLevelSpans(tokenizer), alpha=alpha, tf=tf, idf=idf)


def _inside_reports(rollouts: Rollouts, places: Sequence[Spans]) -> list[BoolArray]:
    """Which tokens share a character with the report."""
    inside: list[BoolArray] = []
    for report, start, spans in zip(rollouts.reports, rollouts.report_starts, places, strict=True):
        first, end = np.maximum(spans[:, 0], start), np.minimum(spans[:, 1], start + len(report))
        inside.append(first < end)
    return inside


def _whole_groups(rollouts: Rollouts) -> None:
    """Refuse a batch that holds a part of a film's rollouts."""
    films, group = rollouts.sample_ids, rollouts.group
    cut = [films[i] for i in range(0, len(films), group) if set(films[i : i + group]) != {films[i]}]
    if len(films) % group:
        cut.append(films[-1])
    if cut:
        raise ValueError(
            f"credit.tf_idf compares the {group} rollouts of a film, but film {cut[0]} has only some of its "
            f"own among this process's {len(films)}; let training.prompts_per_step be a multiple of the "
            "number of processes"
        )
