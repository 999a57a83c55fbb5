"""Bytes, worked out by hand, and the laws they follow."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.plan import memory, peak_memory, shapes
from radrl.plan.counts import Sample
from radrl.plan.memory import Part, Setting, Sizes, Weights

WEIGHTS = Weights(
    vision=300, language=700, embedding=200, layer=50, layers=400, trained=1000, trained_embedding=200
)
ADAPTED = replace(WEIGHTS, trained=60, trained_embedding=0, adapters=60)
SIZES = Sizes(Part(2, 96, 96, 96, 256, fused=True), Part(3, 128, 128, 64, 384), 1500, 14, 2, 1176)
SAMPLE = Sample(1, 64, 45, 60)
SETTINGS = {"prompts_per_step": 8, "rollouts": 8, "rollouts_at_once": 16, "max_new_tokens": 96}


def test_adamw_has_two_floats_a_weight():
    assert memory.moments(1000, 200, eight_bit=False) == 8000


def test_adamw_of_8_bits_has_two_bytes_and_a_scale_for_256_and_leaves_the_embedding():
    assert memory.moments(1000, 232, eight_bit=True) == 8 * 232 + 2 * 768 + 2 * 4 * 3


def test_a_3_b_token_has_36_kib_of_keys_and_values():
    part = Part(layers=36, hidden=2048, heads=2048, keys=256, feed_forward=11008)
    assert memory.cache(part, 10, key_bytes=2, value_bytes=2) == 10 * 36 * 2 * 256 * 2


def test_logits_are_floats_of_every_token_and_entry():
    assert memory.logits(4 * 256, 151_936, copies=1) == 4 * 256 * 151_936 * 4


def test_what_a_whole_training_holds():
    own = Setting(frozen_bytes=2, autocast=True, start=True)
    assert memory.persistent_bytes(WEIGHTS, own) == {"weights": 4000, "moments": 8000, "frozen start": 2000}
    assert memory.gradients(WEIGHTS, own) == 4000
    assert memory.autocast(WEIGHTS, own) == 2000
    again = replace(own, checkpointing=True)  # a layer's and their gradients; the head's where it is no tile
    assert memory.autocast(WEIGHTS, again) == 2 * (2 * 50 + 200)
    assert memory.autocast(WEIGHTS, again, head=False) == 2 * 2 * 50
    assert memory.autocast(WEIGHTS, again, learns=False) == 2000
    assert memory.between(WEIGHTS, own) == {"buckets": 0}
    assert memory.between(WEIGHTS, replace(own, processes=2)) == {"buckets": 4000}


def test_adapters_hold_the_base_once_and_no_other_start():
    own = Setting(frozen_bytes=2, autocast=True, start=True)
    held = memory.persistent_bytes(ADAPTED, own)
    assert held == {"weights": 4 * 60 + 2 * 1000, "moments": 480, "frozen start": 0}


def test_a_base_in_four_bits_takes_half_a_byte_a_weight_of_the_layers():
    own = Setting(frozen_bytes=2, autocast=True, four_bit=True)
    held = memory.persistent_bytes(ADAPTED, own)["weights"]
    assert held == 4 * 60 + 2 * (1000 - 400) + int(0.516 * 400)


def test_shards_are_divided_and_some_is_gathered():
    own = Setting(frozen_bytes=2, autocast=True, start=True, engine="fsdp2", processes=8)
    assert memory.persistent_bytes(WEIGHTS, own) == {"weights": 500, "moments": 1000, "frozen start": 250}
    assert memory.between(WEIGHTS, own) == {"gathered": 4 * (2 * 50 + 200)}
    assert memory.autocast(WEIGHTS, own) == 2000
    assert memory.autocast(WEIGHTS, replace(own, checkpointing=True), head=False) == 2 * 2 * 50


@pytest.mark.parametrize(
    ("products", "trains", "bytes_kept"),
    [(4, True, 24_744), (2, True, 15_976), (4, False, 16_648), (2, False, 9_368)],
)
def test_what_a_layer_keeps_is_what_torch_was_seen_to_keep(products, trains, bytes_kept):
    # docs/bench/plan_memory.md; 40 bytes are logarithms of sums and scales of norms
    part = Part(2, 256, 256, 64, 1000)
    residual = 4 if trains else products
    found = memory.saved_bytes(part, product_bytes=products, residual_bytes=residual, trains=trains)
    assert found == bytes_kept - 40


def test_checkpointing_keeps_inputs_and_one_layer():
    assert memory.activations(10, 500, 3, boundary=8, checkpointing=True) == 3 * (10 * 8 + 500)
    assert memory.activations(10, 500, 3, boundary=8, checkpointing=False) == 3 * 10 * 500


def total(own, settings=SETTINGS, weights=WEIGHTS):
    model = peak_memory.Model(SIZES, weights, {})
    found = peak_memory.of_training(model, own, settings, SAMPLE, tunes="full")
    return max(sum(items.values()) for items in found.values())


counts = st.sampled_from([1, 2, 4, 8, 16, 32, 64])


@given(counts, counts, st.booleans())
def test_more_processes_of_shards_never_need_more(first, second, start):
    own = Setting(frozen_bytes=2, autocast=True, start=start, engine="fsdp2")
    few, many = sorted([first, second])
    assert total(replace(own, processes=many)) <= total(replace(own, processes=few))


@given(counts, counts, st.booleans())
def test_fewer_rollouts_at_once_never_need_more(first, second, checkpointing):
    own = Setting(frozen_bytes=4, autocast=False, checkpointing=checkpointing)
    few, many = (SETTINGS | {"rollouts_at_once": size} for size in sorted([first, second]))
    assert total(own, few) <= total(own, many)


@given(st.integers(1, 64), st.booleans())
def test_checkpointing_and_8_bits_never_need_more(at_once, start):
    own = Setting(frozen_bytes=4, autocast=False, start=start)
    settings = SETTINGS | {"rollouts_at_once": at_once}
    assert total(replace(own, checkpointing=True), settings) <= total(own, settings)
    assert total(replace(own, eight_bit=True), settings) <= total(own, settings)


def test_a_start_on_the_host_is_on_the_device_while_it_is_asked():
    own = Setting(frozen_bytes=2, autocast=True, start=True)
    model = peak_memory.Model(SIZES, WEIGHTS, {})
    here = peak_memory.of_training(model, own, SETTINGS, SAMPLE, tunes="full")
    there = peak_memory.of_training(model, replace(own, start_on_host=True), SETTINGS, SAMPLE, tunes="full")
    assert "start" not in here
    for moment, items in here.items():
        assert items["frozen start"] == 2 * 1000
        assert there[moment] == items | {"frozen start": 0}
    assert there["start"]["frozen start"] == 2 * 1000
    assert {"gradients", "autocast"}.isdisjoint(there["start"])


def test_a_large_vocabulary_goes_in_tiles():
    own = Setting(frozen_bytes=2, autocast=True)
    sizes = replace(SIZES, vocabulary=151_936)
    found = peak_memory.of_training(
        peak_memory.Model(sizes, WEIGHTS, {}), own, SETTINGS | {"max_new_tokens": 256}, SAMPLE, tunes="full"
    )
    tokens = 16 * 256
    # one tile of bfloat16, and the head's gradient in float32
    assert found["update"]["logits"] == tokens * 32_768 * 2 + 151_936 * 128 * 4


def test_a_tower_under_adapters_of_the_language_model_keeps_nothing(shipped, model):
    lora = {"rank": 4, "targets": ["model.language_model.layers.*.mlp.*_proj"]}
    counted = shapes.count(model, "lora", lora)
    own = Setting(frozen_bytes=4, autocast=False)
    found = peak_memory.Model(shipped.sizes, counted.weights, counted.adapted, rank=4)
    few, many = (peak_memory.of_passes(found, own, patches, 0, tunes="lora") for patches in (64, 128))
    assert many - few == 64 * (4 * (3 * 256 + 3 * 96) + 3 * 4 * 96)
