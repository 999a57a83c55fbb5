"""The architecture against BERT's equations written out, with weights by their published names."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from transformers import BertModel

from radrl.labelers.chexbert.model import CheXbert

Weights = dict[str, torch.Tensor]


def linear(weights: Weights, name: str, x: torch.Tensor) -> torch.Tensor:
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def norm(weights: Weights, name: str, x: torch.Tensor) -> torch.Tensor:
    centred = x - x.mean(-1, keepdim=True)
    scaled = centred / (centred.square().mean(-1, keepdim=True) + 1e-12).sqrt()
    return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def written_out(weights: Weights, ids: torch.Tensor, layers: int, heads: int) -> list[torch.Tensor]:
    """Logits of one report without padding: Devlin et al. 2018, then CheXbert's heads on the first token."""
    of = "bert.embeddings"
    x = weights[f"{of}.word_embeddings.weight"][ids] + weights[f"{of}.token_type_embeddings.weight"][0]
    x = norm(
        weights, f"{of}.LayerNorm", x + weights[f"{of}.position_embeddings.weight"][: len(ids)]
    )  # (L, h)
    for layer in range(layers):
        at = f"bert.encoder.layer.{layer}"
        query, key, value = (
            linear(weights, f"{at}.attention.self.{part}", x).unflatten(-1, (heads, -1)).transpose(0, 1)
            for part in ("query", "key", "value")
        )  # (heads, L, h / heads)
        shares = (query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])).softmax(-1)
        heard = (shares @ value).transpose(0, 1).flatten(1)
        x = norm(
            weights,
            f"{at}.attention.output.LayerNorm",
            linear(weights, f"{at}.attention.output.dense", heard) + x,
        )
        wide = linear(weights, f"{at}.intermediate.dense", x)
        wide = wide * (1 + torch.erf(wide / math.sqrt(2))) / 2
        x = norm(weights, f"{at}.output.LayerNorm", linear(weights, f"{at}.output.dense", wide) + x)
    return [linear(weights, f"linear_heads.{i}", x[0]) for i in range(14)]


@pytest.fixture
def exact(make_model: Callable[..., CheXbert]) -> CheXbert:
    return make_model().double()


def test_logits_are_those_of_the_equations(exact: CheXbert) -> None:
    ids = torch.tensor([[40, 3, 17, 5, 5, 9, 41]])
    with torch.no_grad():
        found = exact(ids, torch.ones_like(ids))
    wanted = written_out(exact.state_dict(), ids[0], layers=2, heads=3)
    assert [len(head[0]) for head in found] == [4] * 13 + [2]
    for head, expected in zip(found, wanted, strict=True):
        torch.testing.assert_close(head[0], expected, rtol=1e-10, atol=1e-10)


def test_padding_changes_no_logit(exact: CheXbert) -> None:
    ids = torch.tensor([[40, 3, 17, 41]])
    padded, mask = torch.tensor([[40, 3, 17, 41, 0, 0]]), torch.tensor([[1, 1, 1, 1, 0, 0]])
    with torch.no_grad():
        alone, beside = exact(ids, torch.ones_like(ids)), exact(padded, mask)
    for one, other in zip(alone, beside, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


def test_embeddings_in_the_place_of_ids_give_the_same(exact: CheXbert) -> None:
    ids = torch.tensor([[40, 3, 17, 41]])
    mask = torch.ones_like(ids)
    with torch.no_grad():
        words = exact.bert.embeddings.word_embeddings(ids)
        for one, other in zip(exact(ids, mask), exact(None, mask, inputs_embeds=words), strict=True):
            assert torch.equal(one, other)


def test_the_last_layer_reads_and_learns_as_transformers_own(make_model: Callable[..., CheXbert]) -> None:
    found = make_model().double()
    torch.manual_seed(0)
    own = BertModel(found.bert.config).double()
    own.load_state_dict(found.bert.state_dict())
    ids = torch.tensor([[40, 3, 17, 5, 5, 9, 41], [40, 8, 41, 0, 0, 0, 0]])
    mask = (ids > 0).long()
    for mode in (False, True):
        first = []
        for bert in (own.train(mode), found.bert.train(mode)):
            torch.manual_seed(1)  # of dropout, which draws as much in both
            first.append(bert(ids, mask).last_hidden_state[:, 0])
        torch.testing.assert_close(first[1], first[0], rtol=0, atol=1e-12)
