"""The kinds of credit: uniform, by TF-IDF within a group, by the gradients of a CheXbert (DiTPO)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from transformers import PreTrainedTokenizerBase

from radrl.algorithms.f_measure import BoolArray
from radrl.algorithms.saliency import Normalise, Spans, gradient_weights, target_labels
from radrl.algorithms.tf_idf import InverseFrequency, TermFrequency, tf_idf_weights
from radrl.labelers.base import Labeler
from radrl.labelers.chexbert.labeler import CheXbertLabeler
from radrl.labelers.chexbert.saliency import token_saliency
from radrl.policy.spans import ByteLevelSpans
from radrl.training.reinforcement.credit import Credit, Rollouts, TokenWeights, Uniform


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
        """See `radrl.training.reinforcement.credit.Credit`."""
        _whole_groups(rollouts)
        places = _places(self.spans, rollouts)
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


class Gradient:
    """Tokens that move the labeler's logits of the reference's findings weigh more: DEER, eq. 9 to 12.

    The labeler remembers the labels that this forward pass gives, so a reward that asks the same labeler
    afterwards needs none of its own.

    Args:
        spans: of the policy's tokenizer.
        labeler: whose gradients are taken; it labels the references too.
        beta: strength, not negative.
        normalise: what saliencies are divided by.
        uncertain_as_positive: whether uncertain labels of the reference are among the targets.
        no_finding: whether No Finding may be.
        uncertain: whether the uncertain class's logits are summed too.
    """

    def __init__(
        self,
        spans: ByteLevelSpans,
        labeler: CheXbertLabeler,
        *,
        beta: float,
        normalise: Normalise,
        uncertain_as_positive: bool,
        no_finding: bool,
        uncertain: bool,
    ) -> None:
        self.spans, self.labeler, self.beta, self.normalise = spans, labeler, beta, normalise
        self.uncertain_as_positive, self.no_finding = uncertain_as_positive, no_finding
        self.uncertain = uncertain

    def weigh(self, rollouts: Rollouts) -> TokenWeights:
        """See `radrl.training.reinforcement.credit.Credit`."""
        places = _places(self.spans, rollouts)
        chosen = target_labels(
            self.labeler.label(rollouts.references),
            uncertain_as_positive=self.uncertain_as_positive,
            no_finding=self.no_finding,
        )
        found = token_saliency(self.labeler, rollouts.reports, chosen, uncertain=self.uncertain).reports
        starts = rollouts.report_starts
        values = [
            gradient_weights(
                report.spans + start, report.values, own, beta=self.beta, normalise=self.normalise
            )
            for report, start, own in zip(found, starts, places, strict=True)
        ]
        return TokenWeights(values, places)


def _uniform(own: Any, tokenizer: Any, labeler: Any) -> Credit:
    return Uniform()


def _tf_idf(own: Mapping[str, Any], tokenizer: PreTrainedTokenizerBase, labeler: Any) -> Credit:
    return TfIdf(ByteLevelSpans(tokenizer), **own)


def _gradient(
    own: Mapping[str, Any], tokenizer: PreTrainedTokenizerBase, labeler: Callable[[str], Labeler]
) -> Credit:
    name = own["labeler"]
    reader = labeler(name)
    if not isinstance(reader, CheXbertLabeler):
        raise ValueError(
            f"credit.gradient.labeler is {name}, which has no gradients; "
            "set it to chexbert_compact or chexbert"
        )
    rest = {key: value for key, value in own.items() if key != "labeler"}
    return Gradient(ByteLevelSpans(tokenizer), reader, **rest)


CREDITS: Final[dict[str, Callable[[Any, PreTrainedTokenizerBase, Callable[[str], Labeler]], Credit]]] = {
    "uniform": _uniform,
    "tf_idf": _tf_idf,
    "gradient": _gradient,
}
"""How each kind is made; the key is its name in params.yaml."""


def build(
    settings: str | Mapping[str, Mapping[str, Any] | None],
    tokenizer: PreTrainedTokenizerBase,
    labeler: Callable[[str], Labeler],
) -> Credit:
    """Build a credit.

    Args:
        settings: an arm's `credit` in params.yaml: ``uniform``, or the name of a kind with its settings.
        tokenizer: the policy's.
        labeler: gives a labeler by its name; the one that the rewards ask must be the same object, or its
            forward pass is done twice.

    Returns:
        The credit.

    Raises:
        ValueError: for an unknown kind or several, a labeler without gradients, or a tokenizer whose tokens
            have no bytes.
    """
    given = {settings: {}} if isinstance(settings, str) else settings
    chosen = {name: own for name, own in given.items() if own is not None}
    if len(chosen) != 1 or not chosen.keys() <= CREDITS.keys():
        raise ValueError(f"credit is {', '.join(chosen) or 'empty'}; give one of {', '.join(CREDITS)}")
    [(name, own)] = chosen.items()
    return CREDITS[name](own, tokenizer, labeler)


def _places(spans: ByteLevelSpans, rollouts: Rollouts) -> list[Spans]:
    """Where tokens lie in the outputs, which must be what they decode to."""
    places: list[Spans] = []
    for ids, output, sample_id in zip(rollouts.ids, rollouts.outputs, rollouts.sample_ids, strict=True):
        found = spans.locate(ids)
        if found.text != output:
            raise ValueError(
                f"an output on film {sample_id} is not what its tokens decode to, so credit cannot be laid "
                "on them: the tokenizer's response template or its clean-up changes the text; switch it off"
            )
        places.append(found.spans)
    return places


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
