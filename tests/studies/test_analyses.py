"""A study of the stage analyses: what its file may say, and its tables in the shape of a comparison."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from analyses_tables import write

from radrl.evaluation.pooling import pool_differences, standard_error
from radrl.params.messages import ParamsError
from radrl.pipelines.analyses import masking, rewards
from radrl.studies import analyses
from radrl.studies.claims.verdict import judge
from radrl.studies.execution import ANALYSES, Experiment, experiments
from radrl.studies.file import Study, read
from radrl.studies.page import Described, page, table

RATIO = "masking_rules_label_modification_ratio"
F1 = "masking_rules_post_masking_f1"
ZERO = "rewards_zero_variance_ratio"
UNIQUE = "rewards_unique_rewards"
ONE_READER = {
    "eval.labelers": ["chexbert_compact"],
    "eval.headline": ["nlg_bleu4"],
    "compare.metrics": ["nlg_bleu4"],
}


def claim(**changed: Any) -> dict[str, Any]:
    given = {"says": "Heavy tokens carry labels", "where": "DEER, table 6", "arm": "gradient"}
    return given | {"over": "random", "metrics": [RATIO]} | changed


@pytest.fixture
def study(tmp_path: Path, root: Path) -> Callable[..., Study]:
    def make(**keys: Any) -> Study:
        path = tmp_path / "study-trial.yaml"
        given = {"title": "A trial", "recipe": "phantom-laptop.yaml", "stage": "analyses", "seeds": [0, 1, 2]}
        path.write_text(yaml.safe_dump(given | keys))
        return read(path, root)

    return make


@pytest.fixture
def ran(tmp_path: Path) -> list[Experiment]:
    found = experiments({"": {}}, [0, 1, 2], tmp_path, ANALYSES)
    for one in found:
        write(one)
    return found


def test_a_study_has_the_metrics_and_rows_of_both_tables(study: Callable[..., Study]) -> None:
    found = study().compared
    assert found.metrics[:2] == [RATIO, F1]
    assert len(found.metrics) == 2 * len(masking.METRICS) + len(rewards.METRICS)
    assert found.reference == masking.RANDOM == rewards.REFERENCE
    assert found.rows == {"": ["random", "tf_idf", "gradient", "full", "ddsampling", "most_diverse"]}
    subsets = [pd.DataFrame({"sample_id": ["a"]})] * 3
    pools = rewards.draw_pools(["a", "b"], *subsets, count=2, seed=0)
    assert set(analyses.rows_by_metric(study().params)[ZERO]) == set(pools)


def test_a_credit_left_out_is_no_row(study: Callable[..., Study]) -> None:
    found = study(metrics=[F1], set={"analyses.credit.tf_idf": None}).compared
    assert (found.metrics, found.rows) == ([F1], {"": ["random", "gradient"]})


def test_runs_may_vary_what_the_rollouts_are_looked_at_by(study: Callable[..., Study]) -> None:
    """And need not let arms, which are none of theirs, see different films."""
    runs = {f"share_{part}": {"set": {"selection.ddsampling.share": part / 10}} for part in (5, 9)}
    asked = claim(arm="share_5.ddsampling", over="share_9.ddsampling", metrics=[UNIQUE])
    found = study(runs=runs, claims=[asked])
    assert found.hypotheses[0].over == ("share_9", "ddsampling")
    assert list(found.compared.rows) == ["share_5", "share_9"]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"stage": "analysis"}, r"stage: Input should be 'compare' or 'analyses' \(it is 'analysis'\)"),
        ({"arms": {"sft": {}}}, "arms: the stage analyses has no arms and tests its rows against random"),
        ({"reference": "random"}, "reference: the stage analyses has no arms"),
        ({"runs": {"a": {"arms": ["sft"]}}}, r"runs\.a\.arms: the stage analyses has no arms"),
        ({"metrics": ["masking_rules_f1"]}, f"metrics: 'masking_rules_f1' is none of.*Valid keys: {RATIO}"),
        ({"metrics": ["ce_rules_sample14_f1"]}, "'ce_rules_sample14_f1' is none of the analyses'"),
        (
            {"runs": {"a": {}, "b": {"set": ONE_READER}}},
            f"run b: metrics: '{RATIO}' is none",
        ),
        ({"spread": {"f1": 0.1}}, "spread: 'f1' is none of the study's"),
        ({"claims": [claim(arm="gradiant")]}, r"claims\[0\]\.arm: 'gradiant' is no row.*mean 'gradient'"),
        ({"claims": [claim(over="nearest_training_film")]}, "over: 'nearest_training_film' is no row"),
        ({"claims": [claim(over="sft")]}, r"over: 'sft' is no row of the study"),
        ({"claims": [claim(metrics=["f1"])]}, r"claims\[0\]\.metrics: 'f1' is none of the study's"),
        (
            {"claims": [claim(metrics=[ZERO])]},
            f"'Heavy tokens carry labels' on {ZERO}: 'gradient' is no row of that metric.*full, random",
        ),
        (
            {"claims": [claim(over="ddsampling")]},
            f"{RATIO}: 'ddsampling' is no row.*random, tf_idf, gradient",
        ),
        ({"set": {"selection.ddsampling.shar": 0.1}}, "shar: no such key"),
    ],
)
def test_a_bad_study_names_the_key_and_the_mend(
    study: Callable[..., Study], keys: dict[str, Any], said: str
) -> None:
    with pytest.raises(ParamsError, match=said) as refused:
        study(**keys)
    assert "study-trial.yaml" in str(refused.value)


def test_the_tables_have_the_shape_of_a_comparison(ran: list[Experiment]) -> None:
    found = analyses.comparisons(ran, [RATIO, F1, UNIQUE])
    assert list(dict.fromkeys(found["metric"])) == [RATIO, F1, UNIQUE]
    assert set(found["kind"]) == {"arm"}
    line = found.set_index(["metric", "arm", "seed"]).loc[(RATIO, "gradient", 1)]
    assert line["value"] == pytest.approx(0.3 + 0.4 + 0.01)
    assert line[["difference", "difference_low", "difference_high"]].tolist() == pytest.approx(
        [0.4, 0.36, 0.44]
    )
    untested = found[found["difference"].isna()]
    assert {(line.metric, line.arm) for line in untested.itertuples()} == {
        (RATIO, "random"),
        (F1, "random"),
        (UNIQUE, "random"),
        (UNIQUE, "full"),
    }


def test_patients_are_known_of_a_row_and_random_alone(ran: list[Experiment]) -> None:
    found = analyses.errors(analyses.comparisons(ran, [RATIO, UNIQUE]), "random", level=0.95)
    errors = found.set_index(["metric", "seed", "arm", "other"])["error"]
    assert len(errors) == 3 * (3 + 6)  # seeds, pairs of three rows and of four
    assert errors[RATIO, 2, "random", "gradient"] == pytest.approx(standard_error(-0.04, 0.04))
    assert errors[RATIO, 2, "tf_idf", "gradient"] == 0
    assert errors[UNIQUE, 0, "random", "ddsampling"] == pytest.approx(standard_error(-0.04, 0.04))
    assert errors[UNIQUE, 0, "full", "random"] == errors[UNIQUE, 0, "full", "ddsampling"] == 0


def test_claims_are_judged_and_those_of_fewer_turn_the_pair_round(
    study: Callable[..., Study], ran: list[Experiment]
) -> None:
    asked = study(
        claims=[
            claim(metrics=[RATIO], margin=0.02),
            claim(arm="random", over="gradient", metrics=[F1], family="f1"),
            claim(arm="gradient", over="tf_idf", metrics=[RATIO], family="pair"),
        ]
    )
    found = analyses.comparisons(ran, asked.compared.metrics)
    first, turned, pair = judge(
        asked.hypotheses, found, analyses.errors(found, "random", level=0.95), level=0.95
    )
    known = [standard_error(-0.04, 0.04)] * 3
    assert first.differences == pytest.approx((0.4, 0.4, 0.4))
    assert first.answer.pooled.error == pytest.approx(pool_differences([0.4] * 3, known).error)
    assert first.answer.verdict == "supported"
    assert turned.differences == pytest.approx((-0.4, -0.4, -0.4))
    assert turned.answer.verdict == "contradicted"
    assert pair.differences == pytest.approx((0.3, 0.3, 0.3))
    assert pair.answer.pooled.error == 0


def test_a_row_that_the_stage_left_out_is_named(study: Callable[..., Study], ran: list[Experiment]) -> None:
    found = analyses.comparisons(ran, [RATIO])
    lacking = found[(found["arm"] != "gradient") | (found["seed"] != 1)]
    pairs = analyses.errors(lacking, "random", level=0.95)
    with pytest.raises(ValueError, match=f"gradient on {RATIO}: no value in seed 1"):
        judge(study(claims=[claim()]).hypotheses, lacking, pairs, level=0.95)


def test_the_page_has_rows_and_no_budgets(ran: list[Experiment], described: Callable[..., Described]) -> None:
    said = described(
        metrics=[RATIO, UNIQUE], reference="random", budgets={}, published=None, about=analyses.ABOUT
    )
    found = analyses.comparisons(ran, said.metrics)
    text = page(found, said)
    for absent in ("## Budget", "beaten by", "need no model"):
        assert absent not in text
    assert analyses.ABOUT in text
    assert "Holm's correction runs over the rows within a metric." in text
    assert f"| {RATIO} | gradient | 0.710 ± 0.010 | +0.400 (" in text
    assert f"| {UNIQUE} | full | 0.310 ± 0.010 | - | - |" in text
    lines = table(found, said)
    assert lines.columns[-1] == "corpus"
    assert len(lines) == 3 + 4


def test_two_tables_of_the_paper_stand_beside_one_study(study: Callable[..., Study]) -> None:
    six = {"name": "DEER", "table": "6", "dataset": "MIMIC-CXR rollouts (10,000)"}
    six |= {
        "metrics": {RATIO: "label_modification_ratio"},
        "rows": {"random": "random", "gradient": "gradient"},
    }
    seven = {"name": "DEER", "table": "7", "dataset": "MIMIC-CXR", "metrics": {UNIQUE: "unique_rewards"}}
    seven |= {"rows": {"full": "random (100%)"}}
    found = study(paper=[six, seven]).published
    assert found is not None
    assert found.paper == "DEER, table 6 and DEER, table 7"
    assert found.metrics == {RATIO: "label_modification_ratio", UNIQUE: "unique_rewards"}
    assert found.values["", "gradient"] == {RATIO: 0.327}
    assert found.gains["", "gradient"] == {RATIO: pytest.approx(0.163)}
    assert (found.values["", "full"], found.gains["", "full"]) == ({UNIQUE: 2.6}, {})
    assert [list(other.rows) for other in found.others] == [["tfidf (rule)"], ["DDSampling (20%)"]]
    with pytest.raises(ParamsError, match=rf"paper\[1\]\.metrics: '{RATIO}' stands beside another of the"):
        study(paper=[six, six])
    with pytest.raises(ParamsError, match=r"paper\[1\]\.rows\.sft: 'sft' is no arm of the study"):
        study(paper=[six, seven | {"rows": {"sft": "random (100%)"}}])
