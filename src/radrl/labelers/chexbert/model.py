"""CheXbert (Smit et al. 2020, arXiv:2004.09167): the tokens of a report, and BERT with one head a label.

Its heads read the first token alone, so the last layer of one that has learnt computes no other. Names of
modules are those of the published checkpoint (stanfordmlgroup/CheXbert, ``bert_labeler``), so that its
weights load as they are.

Tokens as its ``bert_tokenizer`` gives them: every run of white space is one blank, the text goes between
[CLS] and [SEP], and of a longer one the first 510 tokens are kept. There the text is rewritten first; here
each white-space character becomes one blank, which gives the same tokens (BERT splits at runs of blanks) and
leaves every character where it was, so that spans point into the text as given.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import nn
from transformers import BertConfig, BertModel, BertTokenizer
from transformers.models.bert.modeling_bert import BertAttention, BertLayer

from radrl.observations import OBSERVATIONS

MAX_TOKENS: Final = 512
"""Of a report, [CLS] and [SEP] included."""
SPECIAL: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

_WHITE_SPACE: Final = re.compile(r"\s")
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")

CLASSES: Final = 4
"""Blank, positive, negative, uncertain."""
NO_FINDING_CLASSES: Final = 2
"""No Finding: blank, positive."""
DROPOUT: Final = 0.1


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


class FirstToken(BertLayer):  # type: ignore[misc]
    """A BERT layer in which the first token alone asks all tokens, once it has learnt.

    While it learns all do, so that dropout draws, and hence what is learnt, are those of transformers' layer.

    Args:
        layer: whose weights it takes.
        config: sizes of the BERT.
    """

    def __init__(self, layer: BertLayer, config: BertConfig) -> None:
        with torch.random.fork_rng(devices=[]):  # its own first weights are not kept
            super().__init__(config)
            self.attention = BertAttention(config, is_cross_attention=True)  # same names of weights
        self.load_state_dict(layer.state_dict())

    def forward(
        self, hidden_states: torch.Tensor, attention_mask: torch.Tensor | None = None, *_: Any, **__: Any
    ) -> torch.Tensor:
        """What the layer makes of the first token.

        Args:
            hidden_states: of all tokens, shape (B, L, hidden).
            attention_mask: as transformers makes it, shape (B, 1, L, L), or nothing.

        Returns:
            Shape (B, 1, hidden); of all tokens, (B, L, hidden), in training mode.
        """
        asking = hidden_states if self.training else hidden_states[:, :1]
        mask = None if attention_mask is None else attention_mask[..., : asking.shape[1], :]
        attended, _ = self.attention(asking, encoder_hidden_states=hidden_states, encoder_attention_mask=mask)
        found: torch.Tensor = self.feed_forward_chunk(attended)
        return found


class CheXbert(nn.Module):
    """Class logits of 14 observations from a report's tokens.

    Args:
        config: sizes of the BERT; the published one is bert-base-uncased.
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.bert = BertModel(config)  # its pooler is in the checkpoint, and unused
        layers = self.bert.encoder.layer
        layers[-1] = FirstToken(layers[-1], config)
        self.dropout = nn.Dropout(DROPOUT)
        classes = [CLASSES] * (len(OBSERVATIONS) - 1) + [NO_FINDING_CLASSES]
        self.linear_heads = nn.ModuleList(nn.Linear(config.hidden_size, count) for count in classes)

    def forward(
        self,
        input_ids: torch.Tensor | None,
        attention_mask: torch.Tensor,
        inputs_embeds: torch.Tensor | None = None,
    ) -> list[torch.Tensor]:
        """Read a batch of tokenised reports.

        Args:
            input_ids: token ids, shape (B, L); nothing where `inputs_embeds` are given.
            attention_mask: 1 at tokens and 0 at padding, shape (B, L).
            inputs_embeds: word embeddings in place of ids, shape (B, L, hidden), for gradients by token.

        Returns:
            Logits of each observation in the order of `OBSERVATIONS`: 13 of shape (B, 4), one of (B, 2).
        """
        hidden = self.bert(
            input_ids=input_ids, attention_mask=attention_mask, inputs_embeds=inputs_embeds
        ).last_hidden_state  # (B, 1 or L, hidden)
        first = self.dropout(hidden[:, 0])  # (B, hidden)
        return [head(first) for head in self.linear_heads]
