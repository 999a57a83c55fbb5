"""Whether the arms of a study had levelled off, on histories of a few looks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.studies.levelling import Levelled, lines, over_seeds, pooled, section, state_of
from radrl.training.watching.levelling import State, levelling

SAMPLE, MACRO, MCCS = (f"watch/ce_rules_{name}" for name in ("sample14_f1", "macro14_f1", "mccs"))
METRICS = ["ce_rules_sample14_f1", "ce_rules_macro14_f1", "nlg_bleu4"]


def history(gain: float, **more: float) -> pd.DataFrame:
    """Looks at 0, 15, ..., 60; between the last two sample F1 gains so much."""
    looked = {SAMPLE: [0.1, 0.2, 0.3, 0.4, 0.4 + gain]}
    looked |= {f"watch/ce_rules_{name}": [0.1, 0.1, 0.1, 0.1, 0.1 + own] for name, own in more.items()}
    return pd.DataFrame({"step": [0, 15, 30, 45, 60], "reward": math.nan} | looked)


def of_seeds(gains: Sequence[float]) -> Levelled:
    return pooled("", "grpo", [levelling(history(gain).to_dict("records")) for gain in gains])


def test_two_looks_of_each_seed_make_a_slope_of_the_study() -> None:
    found = of_seeds([0.01, 0.02, 0.03])
    # in 15 updates 0.01, 0.02, 0.03: in 60 0.04, 0.08, 0.12; sd 0.04, by the root of 3
    assert (found.seeds, found.updates, found.column) == (3, 60, SAMPLE)
    assert found.slope == pytest.approx(0.08)
    assert found.error == pytest.approx(0.04 / math.sqrt(3))
    # t = 3.46, one-sided at 5 % with 2 degrees 2.92
    assert found.state is State.RISING
    # 0.00, 0.02, 0.04: t = 1.73
    assert of_seeds([0.00, 0.02, 0.04]).state is State.LEVEL
    # a third is 20 updates: 0.0072 in 15 are 0.0096 there, under the least
    assert of_seeds([0.0072, 0.0072, 0.0072]).state is State.LEVEL
    assert of_seeds([0.0077, 0.0077, 0.0077]).state is State.RISING


def test_one_seed_has_its_own_state() -> None:
    alone = of_seeds([0.05])
    assert (alone.seeds, alone.state, alone.error) == (1, State.UNKNOWN, None)
    steps = pd.DataFrame({"step": range(0, 121, 10), SAMPLE: [0.01 * i for i in range(13)]})
    assert pooled("", "grpo", [levelling(steps.to_dict("records"))]).state is State.RISING


def test_a_seed_without_a_slope_is_not_counted() -> None:
    short = levelling([{"step": 0, SAMPLE: 0.1}, {"step": 4, SAMPLE: 0.2}])
    found = pooled("", "grpo", [short, *(levelling(history(g).to_dict("records")) for g in (0.02, 0.021))])
    assert found.seeds == 2
    assert found.slope == pytest.approx(0.082)
    none = pooled("", "grpo", [short, short])
    assert (none.seeds, none.slope, none.state) == (0, None, State.UNKNOWN)


@given(st.lists(st.integers(-100, 100).map(lambda n: n / 1000), min_size=2, max_size=6))
def test_mirrored_seeds_have_the_other_sign_and_their_order_none(gains: list[float]) -> None:
    found, other = of_seeds(gains), of_seeds([-gain for gain in reversed(gains)])
    assert other.slope == pytest.approx(-(found.slope or 0), abs=1e-9)
    assert other.error == pytest.approx(found.error, abs=1e-9)
    opposite = {State.RISING: State.FALLING, State.FALLING: State.RISING}
    assert other.state is opposite.get(found.state, found.state)


@pytest.fixture
def found() -> list[Levelled]:
    gains = (0.02, 0.021, 0.019)
    histories = {
        ("few", seed): {
            "grpo": history(gain, macro14_f1=-gain, mccs=gain),
            "blind": pd.DataFrame({"step": range(1, 61), "reward": [0.01 * i for i in range(60)]}),
        }
        for seed, gain in enumerate(gains)
    }
    return over_seeds(histories, METRICS)


def test_the_watched_columns_of_the_metrics_are_read(found: list[Levelled]) -> None:
    assert [(one.arm, one.column, one.state) for one in found] == [
        ("grpo", SAMPLE, State.RISING),
        ("grpo", MACRO, State.FALLING),
        ("blind", "reward", State.RISING),
    ]
    assert [one.column for one in over_seeds({("", 0): {"a": history(0, mccs=0)}}, ["ce_rules_mccs"])] == [
        SAMPLE,
        MCCS,
    ]


@pytest.mark.parametrize(
    ("place", "metric", "state"),
    [
        (("few", "grpo"), "ce_rules_sample14_f1", State.RISING),
        (("few", "grpo"), "ce_rules_macro14_f1", State.FALLING),
        (("few", "grpo"), "nlg_bleu4", State.RISING),  # by sample F1
        (("few", "grpo"), "ce_chexbert_macro14_f1", State.RISING),  # another labeler's
        (("few", "blind"), "ce_rules_sample14_f1", None),  # of a reward
        (("few", "sft"), "ce_rules_sample14_f1", None),
        (("all", "grpo"), "ce_rules_sample14_f1", None),
    ],
)
def test_a_metric_moves_as_what_was_watched(
    found: list[Levelled], place: tuple[str, str], metric: str, state: State | None
) -> None:
    assert state_of(found, place, metric) is state


def test_table_and_csv_say_the_same(found: list[Levelled], tmp_path: Path) -> None:
    table = lines(found)
    table.to_csv(tmp_path / "x.csv", index=False)
    read = pd.read_csv(tmp_path / "x.csv")
    assert read["state"].tolist() == ["rising", "falling", "rising"]
    assert read["change_in_60"].tolist() == pytest.approx([0.08, -0.08, 0.6])
    heading, explained, text = section(found, runs=True)
    assert heading == "## Levelled off"
    assert "one-sided t test over the seeds" in explained
    # 0.076 to 0.084, sd 0.004, by the root of 3
    assert "| few | grpo | 60 | sample F1 on the watched films | +0.080 ± 0.002 | rising |" in text
    assert "| blind | 60 | reward | +0.600 ± 0.000 | rising |" in section(found, runs=False)[2]
