"""Reports of like length side by side, so that little is computed on padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from radrl.labelers.chexbert.text import Encoded


def by_length(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Divide reports into batches, the longest first.

    Args:
        lengths: tokens of each report.
        batch_tokens: most tokens of a batch, padding included; a longer report is a batch of its own.

    Yields:
        Indices into `lengths`, each index once.
    """
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    while order:
        count = max(1, batch_tokens // lengths[order[0]])
        yield order[:count]
        order = order[count:]


def pad(reports: Sequence[Encoded], pad_id: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Put reports into one tensor.

    Args:
        reports: B encoded reports, the longest of L tokens.
        pad_id: the token that fills up.
        device: where the tensors go.

    Returns:
        Token ids and attention mask (1 at tokens, 0 at padding), shape (B, L) each, dtype int64.
    """
    longest = max(len(report.ids) for report in reports)
    ids = [report.ids + [pad_id] * (longest - len(report.ids)) for report in reports]
    mask = [[1] * len(report.ids) + [0] * (longest - len(report.ids)) for report in reports]
    return torch.tensor(ids, device=device), torch.tensor(mask, device=device)
