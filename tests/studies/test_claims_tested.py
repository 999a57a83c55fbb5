"""Claims held against the comparisons of several seeds, and their table."""

import itertools

import pandas as pd
import pytest

from radrl.studies.claims.page import lines, section, summary, verdicts
from radrl.studies.claims.schema import Claim, hypotheses
from radrl.studies.claims.verdict import judge
from radrl.studies.levelling import Levelled
from radrl.training.watching.levelling import State

VALUES = {  # by arm, f1 of seeds 0 to 3
    "sft": [0.50, 0.52, 0.49, 0.51],
    "grpo": [0.56, 0.57, 0.56, 0.57],
    "nearest_training_film": [0.56, 0.58, 0.55, 0.57],
    "random_training_report": [0.2, 0.2, 0.2, 0.2],
    "every_label_positive": [0.3, 0.3, 0.57, 0.3],
    "constant_normal_report": [0.1, 0.1, 0.1, 0.1],
}
ARMS = {"": ["sft", "grpo"]}


def claim(**changed):
    given = {"says": "Rewards help", "where": "DEER, table 1", "arm": "grpo", "over": "sft"}
    return Claim.model_validate(given | {"metrics": ["f1"]} | changed)


@pytest.fixture
def comparisons():
    return pd.DataFrame(
        [
            {"run": "", "seed": seed, "arm": arm, "metric": "f1", "value": value}
            for arm, values in VALUES.items()
            for seed, value in enumerate(values)
        ]
    )


@pytest.fixture
def pairs():
    both = itertools.combinations(VALUES, 2)
    return pd.DataFrame(
        [
            {"run": "", "seed": seed, "metric": "f1", "arm": arm, "other": other, "error": 0.004}
            for arm, other in both
            for seed in range(4)
        ]
    )


def found(comparisons, pairs, *claims):
    asked = hypotheses(claims, ARMS, ["f1"], {"f1": 0.01}, where="study.yaml")
    return judge(asked, comparisons, pairs, level=0.95)


def test_a_claim_is_about_the_seeds_differences(comparisons, pairs):
    (one,) = found(comparisons, pairs, claim())
    assert one.seeds == (0, 1, 2, 3)
    assert one.differences == pytest.approx((0.06, 0.05, 0.07, 0.06))
    assert one.answer.pooled.difference == pytest.approx(0.06)
    assert one.answer.pooled.error == pytest.approx(0.002)  # 0.004 over the root of four seeds
    assert one.answer.verdict == "supported"


def test_the_pair_is_found_in_either_order(comparisons, pairs):
    (one,) = found(comparisons, pairs, claim(over="nearest_training_film", expects="as_much", margin=0.05))
    assert one.differences == pytest.approx((0.0, -0.01, 0.01, 0.0))
    assert one.answer.verdict == "supported"


def test_the_best_row_without_a_model_is_chosen_in_each_seed(comparisons, pairs):
    (one,) = found(comparisons, pairs, claim(over="best_without_model"))
    assert one.differences == pytest.approx((0.0, -0.01, -0.01, 0.0))


def test_one_seed_says_nothing_of_training(comparisons, pairs):
    assert found(comparisons[comparisons["seed"] == 0], pairs, claim()) == []


def test_a_missing_value_is_named(comparisons, pairs):
    lost = comparisons[(comparisons["arm"] != "grpo") | (comparisons["seed"] != 2)]
    with pytest.raises(ValueError, match="grpo on f1: no value in seed 2"):
        found(lost, pairs, claim())


def test_a_difference_beyond_that_of_another_run_is_tested_on_the_gap(comparisons, pairs):
    away = comparisons.copy()
    # there grpo is below sft by 0.02, 0.03, 0.02 and 0.03
    away.loc[away["arm"] == "grpo", "value"] = [0.48, 0.49, 0.47, 0.48]
    both = pd.concat([comparisons.assign(run="home"), away.assign(run="away")])
    errors = pd.concat([pairs.assign(run="home"), pairs.assign(run="away", error=0.003)])
    arms = {"home": ["sft", "grpo"], "away": ["sft", "grpo"]}
    asked = hypotheses(
        [
            claim(arm="home.grpo", over="home.sft", beyond="away"),
            claim(says="It gains", arm="home.grpo", over="home.sft"),
        ],
        arms,
        ["f1"],
        {},
        where="study.yaml",
    )
    gap, gain = judge(asked, both, errors, level=0.95)
    # 0.06 + 0.02, 0.05 + 0.03, 0.07 + 0.02, 0.06 + 0.03
    assert gap.differences == pytest.approx((0.08, 0.08, 0.09, 0.09))
    assert gap.answer.pooled.error == pytest.approx(0.005 / 2)  # (0.004^2 + 0.003^2)^(1/2), of four seeds
    assert gap.answer.verdict == "supported"
    table = lines([gap, gain], study="study-trial", command="", drawn=True, published=None)
    assert table["beyond"].tolist()[0] == "away"
    assert "(`home.grpo` over `home.sft` beyond that in `away`, m 0.01)" in verdicts(table)
    assert "(`home.grpo` over `home.sft`, m 0.01)" in verdicts(table)
    assert "beyond" not in lines([gain], study="study-trial", command="", drawn=True, published=None)


def test_the_lines_hold_what_the_table_rounds(comparisons, pairs):
    asked = found(comparisons, pairs, claim(), claim(says="A film is as good", over="nearest_training_film"))
    table = lines(asked, study="study-trial", command="radrl study x.yaml", drawn=True, published=None)
    assert table["difference"].tolist() == pytest.approx([0.06, 0.0])
    assert table.loc[0, "differences"] == "+0.0600 +0.0500 +0.0700 +0.0600"
    assert (
        summary(table)
        == "2 claims, 2 hypotheses: 1 supported, 0 contradicted, 1 not decidable, 0 stopped early."
    )
    text = verdicts(table, commands=True)
    assert "| **`radrl study x.yaml`** |  |  |  |  |" in text
    assert "| Rewards help (`grpo` over `sft`, m 0.01) | f1: **supported** | +0.060 (" in text
    assert text.endswith("| DEER, table 1 |")
    assert section(table)[0] == "## Claims"


def test_a_claim_on_two_metrics_is_one_line(comparisons, pairs):
    both = pd.concat([comparisons, comparisons.assign(metric="f2")])
    errors = pd.concat([pairs, pairs.assign(metric="f2")])
    asked = hypotheses([claim(metrics=["f1", "f2"])], ARMS, ["f1", "f2"], {}, where="study.yaml")
    found = judge(asked, both, errors, level=0.95)
    text = verdicts(lines(found, study="study-trial", command="", drawn=True, published=None))
    assert len(text.splitlines()) == 3
    assert "| f1: **supported**<br>f2: **supported** |" in text


def ended(arm, state):
    return Levelled("", arm, "watch/ce_rules_sample14_f1", 60, 4, 0.05, 0.01, state, False)


@pytest.fixture
def close():
    return claim(says="A film is as good", over="nearest_training_film")


def test_a_claim_whose_arm_was_still_rising_was_stopped_early(comparisons, pairs, close):
    asked = hypotheses([claim(), close], ARMS, ["f1"], {"f1": 0.01}, where="study.yaml")
    added, equal = judge(asked, comparisons, pairs, [ended("grpo", State.RISING)], level=0.95)
    assert (added.verdict, added.ended) == ("supported", (State.RISING, None))
    assert (equal.verdict, equal.answer.verdict) == ("stopped early", "not decidable")
    (lost, _) = judge(asked, comparisons, pairs, [ended("grpo", State.FALLING)], level=0.95)
    assert lost.verdict == "stopped early"
    (chased, _) = judge(asked, comparisons, pairs, [ended("sft", State.RISING)], level=0.95)
    assert chased.verdict == "stopped early"


def test_the_table_says_what_moved_and_what_the_test_says(comparisons, pairs, close, tmp_path):
    asked = hypotheses([claim(), close], ARMS, ["f1"], {"f1": 0.01}, where="study.yaml")
    found = judge(asked, comparisons, pairs, [ended("grpo", State.RISING)], level=0.95)
    table = lines(found, study="study-trial", command="", drawn=True, published=None)
    assert table["verdict"].tolist() == ["supported", "stopped early"]
    assert table["verdict_of_test"].tolist() == ["supported", "not decidable"]
    assert summary(table).endswith("1 supported, 0 contradicted, 0 not decidable, 1 stopped early.")
    file = tmp_path / "claims.csv"
    table.to_csv(file, index=False)
    text = verdicts(pd.read_csv(file).assign(command="x"))
    assert "| f1: **stopped early** (`grpo` rising; the test: not decidable) |" in text
    assert "**supported** |" in text


def test_tables_of_before_there_were_such_verdicts_are_read_beside_others(comparisons, pairs, close):
    asked = hypotheses([claim(), close], ARMS, ["f1"], {"f1": 0.01}, where="study.yaml")
    new = judge(asked, comparisons, pairs, [ended("grpo", State.RISING)], level=0.95)
    table = lines(new, study="study-new", command="new", drawn=True, published=None)
    old = lines(
        judge(asked, comparisons, pairs, level=0.95), study="a", command="a", drawn=True, published=None
    )
    old = old.drop(columns=["verdict_of_test", "arm_ended", "over_ended"])
    assert "**not decidable** |" in verdicts(old)
    assert summary(old).endswith(" Of 2 nobody asked whether their trainings had levelled off.")
    both = pd.concat([old, table], ignore_index=True)
    text = verdicts(both, commands=True)
    assert "1 stopped early. Of 2 nobody asked" in summary(both)
    assert text.count("**stopped early** (`grpo` rising") == 1
    assert text.count("**not decidable** |") == 1
