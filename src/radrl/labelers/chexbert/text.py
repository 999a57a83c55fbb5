"""Reports as CheXbert reads them: blanks tidied, lower-cased word pieces, 512 tokens at most.

As stanfordmlgroup/CheXbert's ``bert_tokenizer``: every run of white space is one blank, the text goes between
[CLS] and [SEP], and of a longer one the first 510 tokens are kept. There the text is rewritten first; here
each white-space character becomes one blank, which gives the same tokens (BERT splits at runs of blanks) and
leaves every character where it was, so that spans point into the text as given.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import torch
from transformers import BertTokenizer

MAX_TOKENS: Final = 512
"""Of a report, [CLS] and [SEP] included."""
SPECIAL: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

_WHITE_SPACE: Final = re.compile(r"\s")
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Encoded:
    """One report in tokens.

    Args:
        ids: L token ids, the first [CLS], the last [SEP].
        spans: start and end of the L - 2 tokens between them, in characters of the text as given.
    """

    ids: list[int]
    spans: list[tuple[int, int]]


def build_tokenizer(vocabulary: Sequence[str]) -> BertTokenizer:
    """BERT's lower-casing tokenizer over a vocabulary.

    Args:
        vocabulary: word pieces in the order of their ids, the special tokens among them.

    Returns:
        The tokenizer.

    Raises:
        ValueError: a special token is missing or a piece is there twice.
    """
    if missing := [token for token in SPECIAL if token not in vocabulary]:
        raise ValueError(f"no {', '.join(missing)} among {len(vocabulary)} word pieces: no BERT vocabulary")
    if twice := [token for token, count in Counter(vocabulary).items() if count > 1]:
        raise ValueError(f"word piece {twice[0]!r} is there twice, so later ids are out of place")
    return BertTokenizer(vocab={token: i for i, token in enumerate(vocabulary)}, do_lower_case=True)


def encode(tokenizer: BertTokenizer, reports: Sequence[str], max_tokens: int = MAX_TOKENS) -> list[Encoded]:
    """Tokenise reports.

    Args:
        tokenizer: as `build_tokenizer` makes it.
        reports: N texts.
        max_tokens: of a report, [CLS] and [SEP] included; what is beyond is cut.

    Returns:
        N encoded reports; an empty one is [CLS] [SEP].
    """
    if not reports:
        return []
    found = tokenizer(
        [_one_for_one(report) for report in reports],
        add_special_tokens=False,
        return_offsets_mapping=True,
        return_attention_mask=False,
        return_token_type_ids=False,
    )
    start, end, room = tokenizer.cls_token_id, tokenizer.sep_token_id, max_tokens - 2
    return [
        Encoded([start, *ids[:room], end], spans[:room])
        for ids, spans in zip(found["input_ids"], found["offset_mapping"], strict=True)
    ]


def _one_for_one(report: str) -> str:
    """White space as blanks; lone surrogates, which BERT drops, as a sign it drops and UTF-8 can hold."""
    return _LONE_SURROGATE.sub("\ufffd", _WHITE_SPACE.sub(" ", report))


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
