"""CheXbert's architecture (Smit et al. 2020, arXiv:2004.09167): BERT, its first token, one head a label.

Names of modules are those of the published checkpoint (stanfordmlgroup/CheXbert, ``bert_labeler``), so that
its weights load as they are.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import nn
from transformers import BertConfig, BertModel

from radrl.observations import OBSERVATIONS

CLASSES: Final = 4
"""Blank, positive, negative, uncertain."""
NO_FINDING_CLASSES: Final = 2
"""No Finding: blank, positive."""
DROPOUT: Final = 0.1


class CheXbert(nn.Module):
    """Class logits of 14 observations from a report's tokens.

    Args:
        config: sizes of the BERT; the published one is bert-base-uncased.
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.bert = BertModel(config)  # its pooler is in the checkpoint, and unused
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
        ).last_hidden_state  # (B, L, hidden)
        first = self.dropout(hidden[:, 0])  # (B, hidden)
        return [head(first) for head in self.linear_heads]
