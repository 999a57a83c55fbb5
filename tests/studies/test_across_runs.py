"""The error over patients of a difference between arms of two runs."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from radrl.evaluation import mean_metrics
from radrl.evaluation.bootstrap import patient_groups, replicates
from radrl.studies.claims.across_runs import KEPT, SCORED, errors
from radrl.studies.claims.schema import Claim, hypotheses
from radrl.studies.claims.verdict import judge
from radrl.studies.execution import Experiment

METRIC = "green_rules"  # a mean of what eval stored
FILMS = [f"film-{n}" for n in range(12)]
PATIENTS = [f"patient-{n // 2}" for n in range(12)]
PARAMS = {
    "eval": {"families": ["green_rules"], "labelers": ["rules"]},
    "labeler": {"name": "rules"},
    "compare": {"bootstrap": {"resamples": 200, "confidence": 0.95}},
    "device": "cpu",
}


def scored(values, *, reference="Clear."):
    return pd.DataFrame(
        {
            "sample_id": FILMS,
            "patient_id": PATIENTS,
            "reference": reference,
            "reference_label_text": reference,
            "report": "Clear lungs.",
            "report_label_text": "Clear lungs.",
            METRIC: values,
        }
    )


@pytest.fixture
def study(tmp_path):
    """Writes the tables of run few and run all, by arm, and gives the experiments."""

    def written(**tables):
        found = []
        for run, arms in tables.items():
            clone = tmp_path / run
            for arm, table in arms.items():
                file = clone / SCORED.format(arm=arm)
                file.parent.mkdir(parents=True)
                table.to_parquet(file)
            found.append(Experiment(run, 0, PARAMS, clone))
        return found

    return written


def asked(arm="all.grpo", over="few.grpo", runs=("few", "all")):
    claim = Claim.model_validate(
        {"says": "More films help", "where": "a trial", "arm": arm, "over": over, "metrics": [METRIC]}
    )
    return hypotheses([claim], {run: ["sft", "grpo"] for run in runs}, [METRIC], {}, where="study.yaml")


def values(seed):
    return np.random.default_rng(seed).random(len(FILMS))


def test_it_is_the_spread_of_the_difference_over_the_same_resamples_of_patients(study):
    few, every = values(0), values(1)
    (line,) = errors(asked(), study(few={"grpo": scored(few)}, all={"grpo": scored(every)})).to_dict(
        "records"
    )
    by_hand = replicates(
        mean_metrics({METRIC: every - few}), patient_groups(PATIENTS), resamples=200, seed=0
    )[METRIC]
    assert line["error"] == pytest.approx(np.std(by_hand, ddof=1))
    del line["error"]
    assert line == {
        "run": "all", "seed": 0, "metric": METRIC, "arm": "grpo", "other_run": "few", "other": "grpo",
    }  # fmt: skip


@pytest.mark.parametrize("names", [("few", "all"), ("5", "20")])
def test_runs_that_ran_elsewhere_have_their_lines_with_them(study, tmp_path, names):
    few, every = names
    planned = study(**{few: {"grpo": scored(values(0))}, every: {"grpo": scored(values(1))}})
    question = asked(f"{every}.grpo", f"{few}.grpo", runs=names)
    found = errors(question, planned)
    assert len(found) == 1
    there = [replace(one, clone=tmp_path / "packed" / one.run) for one in planned]
    for one in there:
        one.clone.mkdir(parents=True)
        found[found["run"] == one.run].to_csv(one.clone / KEPT, index=False)
    pd.testing.assert_frame_equal(errors(question, there), found)


def test_the_order_in_which_a_run_lists_its_films_is_no_matter(study):
    few = values(0)
    planned = study(few={"grpo": scored(few)}, all={"grpo": scored(few + 0.1)[::-1]})
    (error,) = errors(asked(), planned)["error"]
    assert error == pytest.approx(0.0, abs=1e-12)


def test_other_films_or_other_references_are_no_pair(study):
    other = scored(values(1), reference="A mass.")
    found = errors(asked(), study(few={"grpo": scored(values(0))}, all={"grpo": other}))
    assert found["error"].isna().tolist() == [True]


def test_damaged_tables_are_not_taken_for_other_films(study):
    twice = scored(values(1)).assign(sample_id=["film-0", *FILMS[:-1]])
    with pytest.raises(ValueError, match="has film film-0 twice"):
        errors(asked(), study(few={"grpo": scored(values(0))}, all={"grpo": twice}))


def test_a_row_without_a_model_has_no_reports_of_its_own(study):
    own = study(few={"sft": scored(values(0))}, all={"grpo": scored(values(1))})
    found = errors(asked(over="few.nearest_training_film"), own)
    assert found["error"].isna().tolist() == [True]


def test_claims_within_a_run_need_none(study):
    own = study(few={"grpo": scored(values(0))}, all={"grpo": scored(values(1))})
    assert errors(asked(over="all.sft"), own).empty


COMPARISONS = pd.DataFrame(
    [
        {"run": run, "seed": seed, "arm": "grpo", "metric": METRIC, "value": value}
        for run, value in (("few", 0.5), ("all", 0.6))
        for seed in range(4)
    ]
)


def across(error):
    return pd.DataFrame(
        [
            {"run": "all", "seed": seed, "metric": METRIC, "arm": "grpo", "other_run": "few", "other": "grpo"}
            | {"error": error}
            for seed in range(4)
        ]
    )


@pytest.mark.parametrize(("of_patients", "error"), [(0.08, 0.04), (float("nan"), 0.0)])
def test_a_claim_is_no_surer_than_the_patients_of_two_runs_allow(of_patients, error):
    (one,) = judge(asked(), COMPARISONS, across(of_patients), level=0.95)
    assert one.answer.pooled.error == pytest.approx(error)  # of one seed over the root of four


def test_a_file_that_was_packed_for_other_claims_is_no_proof():
    with pytest.raises(ValueError, match=r"seed 0 has no error .* of all.grpo over few.grpo .*pack it again"):
        judge(asked(), COMPARISONS, across(0.08).assign(arm="sft"), level=0.95)
