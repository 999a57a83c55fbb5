"""Policies that would write what they must not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from radrl.policy import families
from radrl.policy.folder import Policy


@pytest.fixture
def marks_first() -> Callable[[Policy], set[int]]:
    """Let a policy like the marks of films best, which are given back, and all else alike."""

    def change(policy: Policy) -> set[int]:
        model, family = policy.model, families.family_of_model(policy.model)
        words = model.config.get_text_config().vocab_size
        marks = [
            own
            for own in (getattr(model.config, name) for name in family.marks)
            if own is not None and own < words
        ]
        direction = torch.randn(model.lm_head.in_features, generator=torch.Generator().manual_seed(0))
        weight = torch.zeros(model.lm_head.out_features, model.lm_head.in_features)
        for number, mark in enumerate(marks):  # whatever the state of the model, one of two has a high logit
            weight[mark] = direction * (100.0 if number % 2 else -100.0)
        model.lm_head.weight = torch.nn.Parameter(weight)  # embeddings are theirs no more
        model.config.tie_word_embeddings = model.config.get_text_config().tie_word_embeddings = False
        return set(marks)

    return change
