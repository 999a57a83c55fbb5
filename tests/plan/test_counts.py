"""Tokens, worked out by hand."""

import pytest
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import smart_resize

from radrl.plan import counts
from radrl.plan.counts import Sample, Tokens
from radrl.training.preflight import SettingsError

STEP = {
    "steps": 10,
    "epochs": None,
    "prompts_per_step": 4,
    "rollouts": 8,
    "rollouts_at_once": 4,
    "iterations": 1,
    "max_new_tokens": 50,
    "watch": None,
}
SAMPLE = Sample(pictures=1, patches=64, prompt=20, report=30)


@pytest.mark.parametrize("side", [100, 112, 200, 447, 448, 1000])
@pytest.mark.parametrize("bounds", [(0, None), (12544, 12544), (3136, 200_704), (250_000, 10**7)])
def test_patches_are_those_of_the_policys_image_processor(side, bounds):
    least, most = bounds
    own = smart_resize(side, side, factor=28, min_pixels=least, max_pixels=most or 10**9)
    assert counts.patches(side, patch=14, merge=2, least=least, most=most) == own[0] * own[1] // 14**2


def test_a_step_of_32_rollouts_in_parts_of_4():
    # four films are read once in generation; of eight parts each has one film
    assert counts.of_step(STEP, 1) == (4, 8)
    # two processes have 16 rollouts, two films, four parts each
    assert counts.of_step(STEP, 2) == (2, 4)
    # 16 processes have two rollouts of one film, one part
    assert counts.of_step(STEP, 16) == (1, 1)


def test_what_a_training_computes():
    found = counts.training(STEP, SAMPLE, 100, processes=1, start=True)
    rollouts = 4 * 8
    assert found.written == 10 * rollouts * 30
    # the update: eight parts read a film each, and all rollouts
    assert found.learned == 10 * (8 * 20 + rollouts * 30)
    # generation reads four prompts, the frozen start what the update reads
    assert found.read == 10 * (4 * 20) + found.learned
    assert (found.patches, found.patches_learned) == (10 * (4 + 8) * 64, 10 * 8 * 64)
    assert (found.steps, found.batches, found.reports) == (10 * 50, 10, 10 * rollouts)


def test_an_epoch_is_as_many_updates_as_the_training_takes():
    settings = STEP | {"steps": None, "epochs": 1.0}
    assert counts.training(settings, SAMPLE, 102, processes=1, start=False).batches == 26


def test_without_a_frozen_start_nobody_else_reads():
    found = counts.training(STEP, SAMPLE, 100, processes=1, start=False)
    assert found.read == 10 * 4 * 20


def test_looks_are_before_between_and_after():
    # steps 0, 4, 8 and 10
    assert counts.looks(STEP | {"watch": {"every": 4, "films": 9}}, 10) == 4
    assert counts.looks(STEP | {"watch": {"every": 0, "films": 9}}, 10) == 0


def test_a_cold_start_reads_every_film_once_an_epoch():
    found = counts.supervised({"epochs": 3}, SAMPLE, 7)
    assert found == Tokens(patches_learned=3 * 7 * 64, learned=3 * 7 * 50)


def test_a_step_that_processes_cannot_share_is_refused():
    with pytest.raises(SettingsError, match="start 4 or 8 processes"):
        counts.of_step(STEP, 7)


def test_redrawing_counts_what_is_expected_by_hand():
    own = STEP | {"dynamic_sampling": {"mode": "redraw", "at_most": 2}}
    found = counts.redrawing(own, SAMPLE, 10, 0.5)
    # ten batches of four films: 2 and 1 films expected in the two attempts of each
    films = 10 * (2 + 1)
    # an attempt takes place where one of four groups is equal: 15 of 16, then 1 - (3 / 4)^4
    waits = round(10 * (15 / 16 + 1 - (3 / 4) ** 4))
    assert found == Tokens(
        patches=films * 64,
        read=films * 20,
        written=films * 8 * 30,
        steps=waits * 50,
        batches=waits,
        reports=films * 8,
    )


@pytest.mark.parametrize("given", [None, {"mode": "drop", "at_most": None}])
def test_a_training_that_does_not_redraw_draws_no_more(given):
    own = STEP | {"dynamic_sampling": given}
    plain = counts.training(STEP, SAMPLE, 100, processes=1, start=True)
    assert counts.training(own, SAMPLE, 100, processes=1, start=True, equal_groups=0.5) == plain


def test_a_training_that_redraws_learns_no_more():
    own = STEP | {"dynamic_sampling": {"mode": "redraw", "at_most": 2}}
    plain = counts.training(STEP, SAMPLE, 100, processes=1, start=True)
    found = counts.training(own, SAMPLE, 100, processes=1, start=True, equal_groups=0.5)
    assert found == plain + counts.redrawing(own, SAMPLE, 10, 0.5)
    assert found.learned == plain.learned
    assert counts.redrawing(own, SAMPLE, 10, 0.0) == Tokens()
    most = counts.redrawing(own, SAMPLE, 10, 1.0)  # every attempt is a whole batch
    assert (most.reports, most.batches) == (2 * 10 * 4 * 8, 2 * 10)
