"""CheXbert's architecture (Smit et al. 2020, arXiv:2004.09167): BERT, its first token, one head a label.

Heads read the first token alone, so the last layer of one that has learnt computes no other.

Names of modules are those of the published checkpoint (stanfordmlgroup/CheXbert, ``bert_labeler``), so that
its weights load as they are.
"""

from __future__ import annotations

from typing import Any, Final

import torch
from torch import nn
from transformers import BertConfig, BertModel
from transformers.models.bert.modeling_bert import BertAttention, BertLayer

from radrl.observations import OBSERVATIONS

CLASSES: Final = 4
"""Blank, positive, negative, uncertain."""
NO_FINDING_CLASSES: Final = 2
"""No Finding: blank, positive."""
DROPOUT: Final = 0.1


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
