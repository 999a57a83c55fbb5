"""Claims as a study file states them."""

import pytest
from pydantic import ValidationError

from radrl.params.messages import ParamsError
from radrl.studies.claims.schema import Claim, hypotheses

ARMS = {"": ["sft", "grpo", "deer"]}
RUNS = {"few": ["sft", "grpo"], "all": ["sft", "grpo", "deer"]}
METRICS = ["f1", "bleu"]


def claim(**changed):
    given = {"says": "Rewards help", "where": "DEER, table 1", "arm": "grpo", "over": "sft"}
    return Claim.model_validate(given | {"metrics": ["f1"]} | changed)


def stated(*claims, arms=ARMS, spread=None):
    return hypotheses(claims, arms, METRICS, spread or {}, where="study.yaml")


def test_a_claim_is_a_hypothesis_a_metric_in_the_family_of_its_place():
    found = stated(claim(metrics=["bleu", "f1"]))
    assert [(one.metric, one.arm, one.over) for one in found] == [
        ("bleu", ("", "grpo"), ("", "sft")),
        ("f1", ("", "grpo"), ("", "sft")),
    ]
    assert {one.family for one in found} == {"DEER, table 1"}
    assert stated(claim(family="credit"))[0].family == "credit"


def test_the_expected_spread_is_the_study_s_unless_the_claim_has_its_own():
    spread = {"f1": 0.01, "bleu": 0.02}
    first, second = stated(claim(metrics=["f1", "bleu"], spread={"f1": 0.05}), spread=spread)
    assert (first.expected_spread, second.expected_spread) == (0.05, 0.02)
    assert stated(claim())[0].expected_spread is None


def test_a_row_without_a_model_is_that_of_the_arm_s_run():
    (found,) = stated(claim(arm="all.deer", over="nearest_training_film"), arms=RUNS)
    assert found.over == ("all", "nearest_training_film")


def test_an_arm_without_a_run_is_the_one_of_the_claim_s_run():
    (found,) = stated(claim(arm="all.grpo", over="sft"), arms=RUNS)
    assert found.over == ("all", "sft")


def test_an_arm_of_one_run_needs_no_run():
    (found,) = stated(claim(arm="deer", over="few.grpo"), arms=RUNS)
    assert (found.arm, found.over) == (("all", "deer"), ("few", "grpo"))


@pytest.mark.parametrize(
    ("changed", "arms", "said"),
    [
        ({"arm": "gpro"}, ARMS, r"study\.yaml: claims\[0\]\.arm: 'gpro' is no row.*did you mean 'grpo'"),
        ({"arm": "grpo"}, RUNS, r"'grpo' is in runs few, all; write few\.grpo"),
        ({"arm": "most.grpo"}, RUNS, r"there is no run 'most'.*Valid keys: few, all"),
        ({"over": "grpo"}, ARMS, r"claims\[0\]\.over: 'grpo' is the claim's own arm"),
        ({"over": "normal_report"}, ARMS, r"'normal_report' is no row.*constant_normal_report"),
        ({"arm": "every_label_positive"}, ARMS, r"claims\[0\]\.arm: 'every_label_positive' is no row"),
        ({"arm": "all.grpo", "beyond": "fwe"}, RUNS, r"claims\[0\]\.beyond: there is no run 'fwe'.*'few'"),
        ({"arm": "all.grpo", "beyond": "all"}, RUNS, r"'all' is another run"),
        ({"arm": "all.grpo", "over": "few.sft", "beyond": "few"}, RUNS, r"arm and over are rows of one run"),
        ({"arm": "all.deer", "beyond": "few"}, RUNS, r"claims\[0\]\.beyond: 'deer' is no row"),
        ({"metrics": ["f2"]}, ARMS, r"claims\[0\]\.metrics: 'f2' is none of the study's.*f1, bleu"),
    ],
)
def test_what_the_study_has_not_is_refused_by_name(changed, arms, said):
    with pytest.raises(ParamsError, match=said):
        stated(claim(**changed), arms=arms)


@pytest.mark.parametrize("changed", [{"margin": 0.0}, {"metrics": []}, {"expects": "less"}, {"wher": "x"}])
def test_a_claim_is_checked_as_a_section(changed):
    with pytest.raises(ValidationError):
        claim(**changed)
