"""Groups of equal rewards: redrawn from further films up to a bound, or dropped from the loss."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st
from loss_by_hand import ADVANTAGES, ENTROPIES, LOG_PROBABILITIES, MASK, RATIOS, Bare
from small_arms import TRAINING

from radrl.credit.uniform import Uniform
from radrl.policy import folder
from radrl.policy.folder import Policy
from radrl.rewards.base import Part, RewardSum
from radrl.training.preflight import SettingsError, check_redrawing
from radrl.training.reinforcement import grpo
from radrl.training.reinforcement.dynamic_sampling import FilmOrder, Place, left_scale
from radrl.training.reinforcement.grpo import optimise, prompt_dataset

Run = Callable[..., tuple[Policy, list[dict[str, float]]]]
FILMS = 12
REDRAW = {"mode": "redraw", "at_most": 2}
DROP = {"mode": "drop"}


class OfFilms:
    """A score between 0 and 1 of a report's letters; on films that are `alike` always 0.1 + 0.2.

    A sum of tenths, whose mean over a group is not the number itself: a test by the deviation misses it.
    """

    name, clinical = "of_films", True
    reads: Literal["report", "output"] = "report"

    def __init__(self, alike: Sequence[int]) -> None:
        self.alike = {f"film{i}" for i in alike}
        self.told: dict[str, float] = {}
        self.asked: list[list[str]] = []

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> list[float]:
        self.asked.append(list(sample_ids)[::4])
        pairs = zip(reports, sample_ids, strict=True)
        return [0.1 + 0.2 if one in self.alike else sum(map(ord, report)) % 97 / 97 for report, one in pairs]


@pytest.fixture(scope="module")
def many(films: Callable[..., list[bytes]], texts: Callable[[int], list[str]], prompt: str) -> Dataset:
    names = [f"film{i}" for i in range(FILMS)]
    references = [texts(6)[i % 6] for i in range(FILMS)]
    return prompt_dataset([(film,) for film in films(FILMS)], references, names, prompt)


@pytest.fixture
def run(policy_folder: Path, many: Dataset, tmp_path: Path) -> Run:
    def train(
        *, alike: Sequence[int] = (), workspace: str = "work", reward: OfFilms | None = None, **settings: Any
    ) -> tuple[Policy, list[dict[str, float]]]:
        return optimise(
            folder.load(policy_folder),
            many,
            reward=RewardSum([Part(reward or OfFilms(alike), 1.0)]),
            credit=Uniform(),
            settings=TRAINING | settings,
            seed=3,
            workspace=tmp_path / workspace,
        )

    return train


def order(count: int) -> list[int]:
    """The first films of the training's order."""
    own = FilmOrder(FILMS, 2, 3)
    return [own.film(place) for place in range(count)]


@pytest.mark.parametrize("way", [REDRAW, DROP], ids=["redraw", "drop"])
def test_where_every_group_teaches_the_training_is_what_it_is_without(
    run: Run, weights: Callable[[Any], Any], same: Callable[..., bool], way: dict[str, Any]
) -> None:
    """Films, draws and weights to the bit, over more than one pass."""
    plain, curve = run(workspace="plain", steps=8)
    trained, other = run(workspace="dynamic", steps=8, dynamic_sampling=way)
    assert same(weights(trained), weights(plain))
    told = [{key: own for key, own in row.items() if "dynamic_sampling" not in key} for row in other]
    assert told == curve
    assert {own for row in other for key, own in row.items() if "dynamic_sampling" in key} == {0.0}


def test_without_the_setting_nothing_of_it_is_there(run: Run, tmp_path: Path) -> None:
    _, curve = run(alike=range(FILMS), steps=2)
    assert not [key for row in curve for key in row if "dynamic" in key]
    state = json.loads((tmp_path / "work" / "checkpoint-2" / "trainer_state.json").read_text())
    assert "Place" not in state["stateful_callbacks"]


def test_equal_groups_are_replaced_by_the_next_films_of_the_order(
    run: Run, batches: list[dict[str, Any]]
) -> None:
    films = order(8)
    # of the first step the second film; of what follows it the first one too, which is equal as well
    reward = OfFilms([films[1], films[2]])
    _, curve = run(reward=reward, steps=2, dynamic_sampling=REDRAW)
    named = [[f"film{i}" for i in part] for part in (films[:2], films[2:3], films[3:4], films[4:6])]
    assert reward.asked == named
    assert [row["dynamic_sampling/redrawn_groups"] for row in curve] == [1, 0]
    assert [row["dynamic_sampling/extra_rollouts"] for row in curve] == [8, 0]
    assert [row["dynamic_sampling/equal_share"] for row in curve] == [0.5, 0]
    assert [row["groups/equal_advantage_share"] for row in curve] == [0, 0]
    advantages = batches[0]["advantages"][:, 0].reshape(2, 4)
    assert bool((advantages.abs().sum(dim=1) > 0).all())


def test_what_is_equal_after_the_bound_stays_without_an_advantage(
    run: Run, weights: Callable[[Any], Any], same: Callable[..., bool], policy_folder: Path
) -> None:
    reward = OfFilms(range(FILMS))
    trained, curve = run(reward=reward, steps=2, kl=0.0, dynamic_sampling=REDRAW)
    assert [len(films) for films in reward.asked] == [2, 2, 2] * 2
    assert sorted(itertools.chain(*reward.asked)) == sorted(f"film{i}" for i in range(FILMS))  # none twice
    assert [row["dynamic_sampling/extra_rollouts"] for row in curve] == [16, 16]
    assert [row["dynamic_sampling/redrawn_groups"] for row in curve] == [0, 0]
    assert same(weights(trained), weights(policy_folder))


def test_a_step_stops_where_there_is_no_further_film(run: Run) -> None:
    reward = OfFilms(range(FILMS))
    _, curve = run(
        reward=reward, steps=1, prompts_per_step=6, dynamic_sampling={"mode": "redraw", "at_most": 9}
    )
    assert [len(films) for films in reward.asked] == [6, 6]
    assert curve[0]["dynamic_sampling/extra_rollouts"] == 24


def test_rollouts_on_further_films_are_drawn_by_numbers_of_their_own(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, Any]] = []

    class Noting(grpo.ReportGRPOTrainer):
        def _numbers(self, rows: int) -> torch.Tensor | None:
            found = super()._numbers(rows)
            seen.append((self.attempt, found))
            return found

    monkeypatch.setattr(grpo, "ReportGRPOTrainer", Noting)
    run(alike=range(FILMS), steps=2, dynamic_sampling=REDRAW)
    assert [attempt for attempt, _ in seen] == [0, 1, 2] * 2
    assert all((found is None) == (attempt == 0) for attempt, found in seen)
    drawn = torch.cat([found for _, found in seen if found is not None])
    assert drawn.shape == (2 * 2 * 8, TRAINING["max_new_tokens"])
    assert len(drawn.unique(dim=0)) == len(drawn)


@pytest.mark.parametrize(
    "settings",
    [
        {"dynamic_sampling": REDRAW},
        {"dynamic_sampling": REDRAW, "rollouts_at_once": 4, "iterations": 2},
        {"dynamic_sampling": REDRAW, "prompts_per_step": 5},
        {"dynamic_sampling": DROP},
        {"dynamic_sampling": DROP, "rollouts_at_once": 2, "loss": "bnpo"},
    ],
    ids=["redraw", "redraw, rollouts used twice", "redraw over passes", "drop", "drop in parts"],
)
def test_killed_and_resumed_is_as_never_stopped(
    run: Run,
    weights: Callable[[Any], Any],
    same: Callable[..., bool],
    killed_after: Callable[..., Any],
    settings: dict[str, Any],
) -> None:
    alike = order(FILMS)[1::3]
    unbroken, curve = run(alike=alike, workspace="unbroken", **settings)
    with killed_after(grpo, step=2):
        run(alike=alike, workspace="killed", **settings)
    resumed, resumed_curve = run(alike=alike, workspace="killed", **settings)
    assert same(weights(resumed), weights(unbroken))
    assert resumed_curve == curve
    kind = "extra_rollouts" if settings["dynamic_sampling"] == REDRAW else "dropped_groups"
    assert sum(row.get(f"dynamic_sampling/{kind}", 0) for row in curve) > 0


def test_place_is_told_and_taken_up() -> None:
    from types import SimpleNamespace

    kept, fresh = Place(), Place()
    kept.next = 17
    fresh.on_train_begin(None, SimpleNamespace(stateful_callbacks={"Place": kept.state()}), None)
    assert fresh.next == 17
    fresh.on_train_begin(None, SimpleNamespace(stateful_callbacks={}), None)
    assert fresh.next == 17


# The reports of test_losses twice: of a group that teaches, then of one that is dropped. What is left is the
# loss of the first alone, however the loss is divided and the step is parted.
BY_HAND = {
    "grpo": (-(1.3 + 0.5) / 2 + 3) / 2,
    "bnpo": (-1.3 - 0.5 + 3) / 3,
    "dapo": (-1.3 - 0.5 + 3) / 3,
    "dr_grpo": (-1.3 - 0.5 + 3) / (2 * 4),
    "luspo": (-1.3 - 0.5 + 3) / 2,
    "cispo": (2.0 * 1 + 0.5 * 2 - 3.0 * 0.5) / 3,
}


class Twice(Bare):
    """Says the two reports' log-probabilities as often as it is asked."""

    def _get_per_token_logps_and_entropies(self, _: Any, ids: torch.Tensor, *__: Any, **___: Any) -> Any:
        logps = LOG_PROBABILITIES.repeat(len(ids) // 2, 1)
        return logps, ENTROPIES.repeat(len(ids) // 2, 1), None


def four() -> dict[str, torch.Tensor]:
    return {
        "prompt_ids": torch.zeros(4, 1, dtype=torch.long),
        "prompt_mask": torch.ones(4, 1, dtype=torch.long),
        "completion_ids": torch.zeros(4, 2, dtype=torch.long),
        "completion_mask": MASK.repeat(2, 1),
        # not 0 for the dropped ones, so that they are seen if they are not
        "advantages": ADVANTAGES.repeat(2, 1),
        "old_per_token_logps": (LOG_PROBABILITIES - RATIOS.log()).repeat(2, 1),
        "num_items_in_batch": 2 * MASK.sum(),
    }


def trainer_of(loss: str, tmp_path: Path, parts: int, scores: list[float]) -> Twice:
    settings = TRAINING | {"loss": loss, "clip_low": 0.2, "clip_high": 0.3, "kl": 0.0}
    args = grpo._arguments(settings, RewardSum([]), 0, tmp_path)
    args.steps_per_generation, args.per_device_train_batch_size = parts, 4 // parts
    own = Twice(args)
    own.num_generations, own.current_gradient_accumulation_steps = 2, parts
    own.reward_weights, own.part_scores = torch.ones(1), np.array(scores)[:, None]
    return own


def loss_of(own: Twice, batch: dict[str, torch.Tensor], parts: int) -> float:
    rows = [slice(i * 4 // parts, (i + 1) * 4 // parts) for i in range(parts)]
    cut = [{key: x[part] if x.ndim else x for key, x in batch.items()} for part in rows]
    return sum(float(own._compute_loss(None, part)) for part in cut)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("loss", BY_HAND)
def test_dropped_loss_is_that_of_what_is_left_by_hand(loss: str, parts: int, tmp_path: Path) -> None:
    own = trainer_of(loss, tmp_path, parts, [0.2, 0.7, 0.3, 0.3])
    batch = four()
    left = own._left(batch)
    assert loss_of(own, batch | left, parts) == pytest.approx(BY_HAND[loss], rel=1e-5)
    assert own._metrics["train"]["dynamic_sampling/dropped_groups"] == [1.0]
    assert left["num_items_in_batch"] == 3


def test_parts_without_anything_left_have_no_say_in_the_record(tmp_path: Path) -> None:
    own = trainer_of("grpo", tmp_path, 2, [0.2, 0.7, 0.3, 0.3])
    batch = four()
    loss_of(own, batch | own._left(batch), 2)
    assert own._metrics["train"]["entropy"] == pytest.approx([(0.1 + 0.9 + 0.5) / 3])
    assert own._metrics["train"]["dynamic_sampling/dropped_groups"] == [1.0]


@pytest.mark.parametrize("loss", BY_HAND)
def test_nothing_left_is_no_loss_and_all_left_is_the_loss(loss: str, tmp_path: Path) -> None:
    none = trainer_of(loss, tmp_path, 1, [0.2, 0.2, 0.3, 0.3])
    batch = four()
    assert loss_of(none, batch | none._left(batch), 1) == 0
    every = trainer_of(loss, tmp_path, 1, [0.2, 0.7, 0.3, 0.1])
    assert every._left(batch) == {}


@given(
    kept=st.lists(st.booleans(), min_size=1, max_size=6),
    size=st.integers(1, 4),
    values=st.integers(0, 2**32 - 1),
)
def test_scaled_mean_over_parts_is_the_mean_of_what_is_kept(kept: list[bool], size: int, values: int) -> None:
    rows = np.array(kept).repeat(size)
    numbers = np.random.default_rng(values).normal(size=rows.size)
    mean = (numbers * rows).mean() * left_scale("grpo", rows, 1)
    assert mean == pytest.approx(numbers[rows].mean() if rows.any() else 0.0)


@given(
    films=st.integers(2, 12),
    at_once=st.integers(1, 4),
    seed=st.integers(0, 99),
    alike=st.sets(st.integers(0, 11)),
    bound=st.integers(1, 4),
)
def test_no_step_draws_more_than_its_bound_or_a_film_twice(
    films: int, at_once: int, seed: int, alike: set[int], bound: int
) -> None:
    """Of the films of a redrawing step, as the trainer takes them."""
    at_once = min(at_once, films)
    own, place = FilmOrder(films, at_once, seed), 0
    for _ in range(5):
        taken, place = own.take(at_once, place)
        tried, slots = list(taken), list(taken)
        for _ in range(bound):
            lacking = [i for i, film in enumerate(slots) if film in alike]
            more, behind = own.take(len(lacking), place, without=tried)
            assert len(more) <= len(lacking)
            assert behind >= place
            place, tried = behind, tried + more
            for i, film in zip(lacking, [film for film in more if film not in alike], strict=False):
                slots[i] = film
        assert len(tried) == len(set(tried)) <= at_once * (1 + bound)
        if any(film in alike for film in slots):  # the bound is spent, or hardly a film was left to try
            assert len(tried) >= min(films // at_once * at_once, at_once + bound)


def test_order_is_that_of_the_trainers_sampler(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    reward = OfFilms(())
    run(reward=reward, steps=5, prompts_per_step=5)  # a pass leaves out two films
    own = FilmOrder(FILMS, 5, 3)
    assert list(itertools.chain(*reward.asked)) == [f"film{own.film(place)}" for place in range(25)]


def test_several_processes_that_redraw_are_refused_and_drop_is_not() -> None:
    key = "training.dynamic_sampling"
    with pytest.raises(SettingsError, match=rf"^{key}\.mode is redraw, and 2 .*set {key}\.mode to drop"):
        check_redrawing({"dynamic_sampling": REDRAW}, key, 2)
    check_redrawing({"dynamic_sampling": REDRAW}, key, 1)
    for own in ({"dynamic_sampling": DROP}, {"dynamic_sampling": None}, {}):
        check_redrawing(own, key, 2)
