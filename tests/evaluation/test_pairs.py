"""The error over patients of the difference between any two arms."""

import numpy as np
import pytest

from radrl.evaluation.comparison import compare, drawn_alike
from radrl.evaluation.pairs import pair_errors
from radrl.evaluation.summed import mean_metrics

PATIENTS = [f"p{i // 2}" for i in range(200)]


@pytest.fixture(scope="module")
def arms():
    rng = np.random.default_rng(3)
    shared = rng.random(200)
    values = {
        "sft": shared,
        "grpo": shared + 0.1 * rng.random(200),
        "shifted": shared + 0.25,
        "other": rng.random(200),
    }
    return {arm: [mean_metrics({"f1": own})] for arm, own in values.items()}


@pytest.fixture(scope="module")
def drawn(arms):
    return drawn_alike(arms, PATIENTS, resamples=2000, seed=0)


def test_each_pair_stands_once_in_the_order_of_the_arms(drawn):
    pairs = [(pair.arm, pair.other) for pair in pair_errors(drawn)]
    assert pairs == [
        ("sft", "grpo"),
        ("sft", "shifted"),
        ("sft", "other"),
        ("grpo", "shifted"),
        ("grpo", "other"),
        ("shifted", "other"),
    ]


def test_two_arms_that_differ_by_a_constant_have_no_error(drawn):
    assert error(drawn, "sft", "shifted") == pytest.approx(0, abs=1e-12)
    assert error(drawn, "grpo", "shifted") == pytest.approx(error(drawn, "sft", "grpo"))


def test_the_error_is_that_of_the_mean_over_patients(arms, drawn):
    gains = (arms["other"][0].per_study - arms["sft"][0].per_study)[:, 0].reshape(100, 2).mean(axis=1)
    assert error(drawn, "sft", "other") == pytest.approx(gains.std() / 10, rel=0.05)


def test_it_is_what_the_comparison_s_interval_is_made_of(arms, drawn):
    row = next(
        row
        for row in compare(arms, PATIENTS, reference="sft", resamples=2000, seed=0, by_run=drawn)
        if row.arm == "other"
    )
    width = row.difference.high - row.difference.low
    assert error(drawn, "sft", "other") == pytest.approx(width / (2 * 1.96), rel=0.05)


def error(drawn, arm, other):
    (found,) = [pair.error for pair in pair_errors(drawn) if (pair.arm, pair.other) == (arm, other)]
    return found
