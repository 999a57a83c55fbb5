"""How much each token of a report moves CheXbert's findings: DEER's gradients, for DiTPO's credit.

DEER, eq. 9 to 11: S is the sum of the positive class's logits over the chosen observations (the reference's
positive ones), read from the generated report, and a token's saliency the L2 norm of dS/dE_j over the
labeler's word embedding E_j of that token. The model is in evaluation mode, so nothing is drawn.

Eq. 9 sums the positive logits; the text before it speaks of positive and uncertain ones: ``uncertain=True``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import torch

from radrl.labelers import LabelMatrix, check_texts
from radrl.labelers.chexbert.labeler import CheXbertLabeler, classes
from radrl.labelers.chexbert.model import CheXbert, Encoded, by_length, pad
from radrl.observations import OBSERVATIONS, POSITIVE, UNCERTAIN

BATCH: Final = 1024
"""Most tokens of a batch, padding included. Gradients keep all layers' activations: about 0.6 MB a token with
a BERT of bert-base's sizes."""

BoolMatrix = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Saliency:
    """Saliencies of one report's T tokens in the labeler's tokenisation, [CLS] and [SEP] left out.

    Args:
        spans: start and end of each token in characters of the text as given, shape (T, 2). What was cut
            beyond the labeler's last position has no token.
        values: s_j of eq. 11, shape (T,), not negative; zeros where no observation was chosen.
    """

    spans: npt.NDArray[np.int64]
    values: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Saliencies:
    """Saliencies of N reports, and the labels that the same forward pass gave.

    Args:
        labels: class indices, shape (N, 14), dtype int8.
        reports: N saliencies.
    """

    labels: LabelMatrix
    reports: list[Saliency]


def token_saliency(
    labeler: CheXbertLabeler,
    reports: Sequence[str],
    chosen: BoolMatrix,
    *,
    uncertain: bool = False,
) -> Saliencies:
    """Find each token's saliency for chosen observations.

    A text is read once for each set of observations chosen for it. The labeler remembers the labels.

    Args:
        labeler: whose CheXbert is asked.
        reports: N generated reports, raw.
        chosen: which observations S sums over in each report, shape (N, 14).
        uncertain: whether S sums the uncertain class's logits too (No Finding has none).

    Returns:
        Labels and saliencies, in the order of the reports.

    Raises:
        TypeError: a report is no string; the message names its number.
        ValueError: `chosen` is of another shape or dtype, or a logit or gradient is not finite.
    """
    check_texts(reports)
    if chosen.shape != (len(reports), len(OBSERVATIONS)) or chosen.dtype != np.bool_:
        wanted = f"bool ({len(reports)}, {len(OBSERVATIONS)})"
        raise ValueError(f"chosen is {chosen.dtype} {chosen.shape}, not {wanted}: one row a report")
    encoded = labeler.encode(reports)
    firsts: dict[tuple[str, bytes], int] = {}
    first = [firsts.setdefault((text, chosen[i].tobytes()), i) for i, text in enumerate(reports)]
    asked = [i for i in firsts.values() if chosen[i].any() and encoded[i].spans]
    rest = [i for i in firsts.values() if not (chosen[i].any() and encoded[i].spans)]

    values = {i: np.zeros(len(encoded[i].spans)) for i in firsts.values()}
    labels = np.zeros((len(reports), len(OBSERVATIONS)), dtype=np.int8)
    for batch in by_length([len(encoded[i].ids) for i in asked], BATCH):
        rows = [asked[i] for i in batch]
        labels[rows], norms = _read_batch(labeler, [encoded[i] for i in rows], chosen[rows], uncertain)
        values.update((i, row[1 : 1 + len(values[i])]) for i, row in zip(rows, norms, strict=True))
    labeler.remember([reports[i] for i in asked], labels[asked])
    labels[rest] = labeler.label([reports[i] for i in rest])

    spans = [np.array(report.spans, dtype=np.int64).reshape(-1, 2) for report in encoded]
    return Saliencies(labels[first], [Saliency(spans[i], values[first[i]]) for i in range(len(reports))])


def _read_batch(
    labeler: CheXbertLabeler, reports: Sequence[Encoded], chosen: BoolMatrix, uncertain: bool
) -> tuple[LabelMatrix, FloatArray]:
    """Labels (B, 14) and saliencies (B, L), special tokens and padding among them."""
    with (
        torch.inference_mode(False),  # a reward is asked where a trainer has turned gradients off
        torch.enable_grad(),
        torch.autocast(labeler.device.type, enabled=False),
    ):
        ids, mask = pad(reports, labeler.tokenizer.pad_token_id, labeler.device)  # (B, L) each
        embeddings = labeler.model.bert.get_input_embeddings()(ids)  # (B, L, hidden)
        labels, gradient = gradients(
            labeler.model, embeddings, mask, torch.from_numpy(chosen).to(ids.device), uncertain=uncertain
        )
    norms = gradient.norm(dim=-1)  # (B, L)
    if not norms.isfinite().all():
        raise ValueError("CheXbert's gradients are not finite: its weights are damaged")
    return labels, norms.double().cpu().numpy()


def gradients(
    model: CheXbert,
    embeddings: torch.Tensor,
    attention_mask: torch.Tensor,
    chosen: torch.Tensor,
    *,
    uncertain: bool = False,
) -> tuple[LabelMatrix, torch.Tensor]:
    """The gradient of the chosen observations' logits with respect to the word embeddings (DEER, eq. 9, 10).

    Args:
        model: in evaluation mode.
        embeddings: word embeddings of B reports, shape (B, L, hidden).
        attention_mask: 1 at tokens and 0 at padding, shape (B, L).
        chosen: which observations S sums over, bool, shape (B, 14).
        uncertain: whether S sums the uncertain class's logits too.

    Returns:
        Labels, shape (B, 14), and dS/dE, shape (B, L, hidden).
    """
    embeddings = embeddings.detach().requires_grad_()
    logits = model(None, attention_mask, inputs_embeds=embeddings)
    positive = torch.stack([head[:, POSITIVE] for head in logits], dim=1)  # (B, 14)
    target = positive[chosen].sum()
    if uncertain:
        hedged = torch.stack([head[:, UNCERTAIN] for head in logits[:-1]], dim=1)  # (B, 13)
        target = target + hedged[chosen[:, :-1]].sum()
    (gradient,) = torch.autograd.grad(target, embeddings)
    return classes([head.detach() for head in logits]), gradient
