"""Seconds, worked out by hand, and where throughputs are from."""

import pytest

from radrl.plan import hours
from radrl.plan.counts import Tokens
from radrl.plan.hours import Card, Costs

CARD = Card(
    "x",
    80,
    3,
    forward=1,
    training=2,
    bandwidth=1.0,
    link=0.5,
    layer_ms=1.0,
    launched_layer_ms=7.0,
    vllm_layer_ms=0.1,
    texts=10,
    source="",
)
COSTS = Costs(tower=1000, language=2000, layers=10, weight_bytes=10**9)


def test_reading_is_two_operations_a_weight_and_token():
    assert hours.seconds(Tokens(patches=10**6, read=10**6), COSTS, CARD) == pytest.approx(6e9 / 1e12)


@pytest.mark.parametrize(
    ("learns", "passes", "again", "operations"),
    [
        ((True, True), True, False, 6 * 3000),
        ((True, False), True, False, 6 * 1000 + 4 * 2000),
        ((False, False), False, False, 2 * 1000 + 4 * 2000),
        ((True, True), True, True, 8 * 3000),
    ],
)
def test_learning_counts_what_a_gradient_goes_through(learns, passes, again, operations):
    costs = Costs(1000, 2000, 10, 0, 0, learns[0], learns[1], passes, again)
    tokens = Tokens(patches_learned=10**6, learned=10**6)
    assert hours.seconds(tokens, costs, CARD) == pytest.approx(operations * 1e6 / 2e12)


def test_processes_share_operations_and_wait_alike():
    tokens = Tokens(read=10**9, steps=100)
    one, two = (hours.seconds(tokens, COSTS, CARD, processes=count) for count in (1, 2))
    waiting = 100 * (10 * 1e-3 + 1e-3)
    assert (one - waiting, two - waiting) == pytest.approx((4.0, 2.0))


def test_shards_are_gathered_for_every_token():
    costs = Costs(1000, 2000, 10, 10**9, gathered_bytes=10**9, loop="launched")
    assert hours.writing(Tokens(steps=100), costs, CARD) == pytest.approx(100 * (10 * 7e-3 + 1e-3 + 2e-3))


def test_vllm_starts_a_token_at_once_and_reads_keys_and_values():
    costs = Costs(1000, 2000, 10, 10**9, cached_bytes=3 * 10**9, loop="vllm")
    assert hours.writing(Tokens(steps=100), costs, CARD) == pytest.approx(100 * (10 * 0.1e-3 + 4e-3))


def test_every_throughput_says_where_it_is_from():
    known = hours.table()
    said = [card["source"] for card in known["cards"].values()]
    said += [known["stages"]["source"], known["reports"]["source"]]
    assert all(
        text.startswith("arithmetic") or "measured by bench/" in text or "assumed" in text for text in said
    )
    assert all(
        not own["source"].startswith("measured") or "measured by bench/gpu_check on" in own["source"]
        for name, own in known["cards"].items()
        if name != "cpu"
    )


def test_a_cards_source_is_its_own():
    assert hours.sources(CARD) == {
        "x": "",
        **{name: hours.table()[name]["source"] for name in ("stages", "reports")},
    }


def test_a_throughput_can_be_overridden():
    card, pace = hours.read("h100", {"layer_ms": 0.1, "report_tokens": 80})
    assert (card.layer_ms, pace.report_tokens) == (0.1, 80)


def test_an_unknown_throughput_or_card_is_refused():
    with pytest.raises(ValueError, match="'tokens' is no throughput; there are memory_gib, "):
        hours.read("h100", {"tokens": 1})
    with pytest.raises(ValueError, match="'tpu' is no card; there are h100, "):
        hours.read("tpu", {})


def test_the_shipped_study_takes_about_as_long_as_it_did(root):
    """Measured: 12.1 CPU minutes of training, 0.9 of rollouts, 1.2 of the cold start (bench/stages.md)."""
    from radrl.plan import report

    plan = report.plan(root / "conf/recipes/phantom-laptop.yaml")
    minutes = {}
    for stage in plan.stages:
        name = stage.name.partition("@")[0]
        minutes[name] = minutes.get(name, 0) + stage.seconds / 60
    assert 0.5 < minutes["train"] / 12.1 < 2
    assert 0.4 < minutes["sft"] / 1.2 < 2
    assert 0.4 < minutes["rollouts"] / 0.9 < 2
