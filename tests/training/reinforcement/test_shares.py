"""What processes that share a step ask of one another, the others only pretended."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from radrl.credit.base import Rollouts, TokenWeights
from radrl.training.reinforcement import shares
from radrl.training.reinforcement.shared_forward import Texts


class Pretended:
    """One of several processes; what is gathered is its own and what the others are said to have."""

    device = torch.device("cpu")

    def __init__(self, index: int, count: int, *, sharded: bool = False, others: int = 0) -> None:
        self.process_index, self.num_processes = index, count
        self.is_main_process = index == 0
        self.is_fsdp2 = sharded
        self._others = others

    def gather(self, own: torch.Tensor) -> torch.Tensor:
        return torch.cat([own, torch.tensor([self._others])])


def test_one_process_draws_for_itself() -> None:
    assert shares.numbers(Pretended(0, 1), 2, 3) is None  # type: ignore[arg-type]


def test_numbers_are_parts_of_what_one_would_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[torch.Tensor] = []

    def broadcast(drawn: torch.Tensor) -> torch.Tensor:
        """The first process' numbers, whatever the others hand in."""
        sent.append(drawn)
        assert drawn.shape == sent[0].shape
        assert drawn.dtype == sent[0].dtype
        return sent[0]

    monkeypatch.setattr(shares, "broadcast", broadcast)
    torch.manual_seed(5)
    parts = [shares.numbers(Pretended(index, 3), 2, 4) for index in range(3)]  # type: ignore[arg-type]
    torch.manual_seed(5)
    whole = torch.rand((6, 4), dtype=sent[0].dtype)
    assert torch.equal(torch.cat([part for part in parts if part is not None]), whole)
    assert [tuple(part.shape) for part in parts if part is not None] == [(2, 4)] * 3


def texts(count: int) -> Texts:
    ids = torch.arange(10, 10 + count)[:, None].repeat(1, 2)
    return Texts(torch.arange(count), ids, torch.ones_like(ids))


@pytest.mark.parametrize(
    ("count", "size", "others", "rows"),
    [
        (3, 2, 2, [0, 1, 2]),  # two passes, as many as the others
        (3, 2, 1, [0, 1, 2]),
        (3, 2, 3, [0, 1, 2, 2, 2]),  # a third pass begins with the fifth text
        (1, 4, 2, [0, 0, 0, 0, 0]),
        (4, 2, 3, [0, 1, 2, 3, 3]),
        (2, 1, 2, [0, 1]),
    ],
)
def test_texts_take_as_many_passes_as_in_any_process(
    count: int, size: int, others: int, rows: list[int]
) -> None:
    accelerator: Any = Pretended(0, 2, sharded=True, others=others)
    found = shares.evened(accelerator, texts(count), size)
    assert found.rows.tolist() == rows
    assert found.ids[:, 0].tolist() == [10 + row for row in rows]
    assert found.mask.shape == found.ids.shape
    assert max(-(-len(rows) // size), others) == max(-(-count // size), others)


def test_texts_stay_where_each_process_has_all_weights() -> None:
    own = texts(3)
    assert shares.evened(Pretended(0, 2, others=9), own, 2) is own  # type: ignore[arg-type]


class Numbered:
    """Weighs a rollout by its first token, and notes whose it was asked for."""

    def __init__(self, gives: bool = True) -> None:
        self.gives = gives
        self.seen: list[list[str]] = []

    def weigh(self, rollouts: Rollouts) -> TokenWeights | None:
        self.seen.append(list(rollouts.sample_ids))
        assert len(rollouts.ids) == len(rollouts.outputs) == len(rollouts.references)
        values = [np.array([float(ids[0])]) for ids in rollouts.ids]
        spans = [np.array([[0, ids[0]]]) for ids in rollouts.ids]
        return TokenWeights(values, spans) if self.gives else None


def step(films: str, group: int) -> Rollouts:
    """A rollout a letter, numbered from 1."""
    count = len(films)
    return Rollouts([[i + 1] for i in range(count)], ["o"] * count, ["r"] * count, [*films], group)


def part(whole: Rollouts, index: int, size: int) -> Rollouts:
    rows = slice(index * size, (index + 1) * size)
    columns = (whole.ids[rows], whole.outputs[rows], whole.references[rows], whole.sample_ids[rows])
    return Rollouts(*columns, whole.group)


@pytest.mark.parametrize(
    ("index", "size", "asked", "weights"),
    [
        (0, 2, "aaabbb"[:3], [1, 2]),
        (1, 2, "aaabbb", [3, 4]),  # of both groups
        (2, 2, "bbb", [5, 6]),
        (0, 4, "aaabbb", [1, 2, 3, 4]),
        (1, 4, "bbbccc", [5, 6, 7, 8]),
    ],
)
def test_groups_that_processes_part_are_weighed_whole(
    monkeypatch: pytest.MonkeyPatch, index: int, size: int, asked: str, weights: list[int]
) -> None:
    whole = step("aaabbb" if size == 2 else "aaabbbcccddd", 3)
    columns = iter((whole.ids, whole.outputs, whole.references, whole.sample_ids))
    monkeypatch.setattr(shares, "gather_object", lambda own: list(next(columns)))
    credit: Any = Numbered()
    found = shares.weigh(Pretended(index, 3), credit, part(whole, index, size))  # type: ignore[arg-type]
    assert found is not None
    assert ["".join(films) for films in credit.seen] == [asked]
    assert [int(own[0]) for own in found.values] == weights
    assert [int(own[0, 1]) for own in found.spans] == weights


def test_whole_groups_are_weighed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "gather_object", lambda own: pytest.fail("nobody is asked"))
    credit: Any = Numbered()
    found = shares.weigh(SimpleNamespace(process_index=1), credit, step("aabb", 2))  # type: ignore[arg-type]
    assert found is not None
    assert [int(own[0]) for own in found.values] == [1, 2, 3, 4]


def test_uniform_credit_gives_nothing_in_parted_groups_either(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = step("aaabbb", 3)
    columns = iter((whole.ids, whole.outputs, whole.references, whole.sample_ids))
    monkeypatch.setattr(shares, "gather_object", lambda own: list(next(columns)))
    credit: Any = Numbered(gives=False)
    assert shares.weigh(Pretended(0, 3), credit, part(whole, 0, 2)) is None  # type: ignore[arg-type]
