"""A study's table of where the spread between its seeds comes from."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from radrl.studies.claims.schema import Claim, Hypothesis, hypotheses
from radrl.studies.claims.verdict import judge
from radrl.studies.spread import Parts, lines, parts, section
from radrl.studies.tables import pooled

SFT = [0.30, 0.34, 0.32]
ARMS = {"sft": SFT, "grpo": [0.40, 0.43, 0.43], "dpo": [0.31, 0.35, 0.33]}
ASKED = {"says": "DPO is above GRPO", "where": "no paper", "arm": "dpo", "over": "grpo", "metrics": ["f1"]}


def asked(**own: Any) -> list[Hypothesis]:
    return hypotheses([Claim(**ASKED | own)], {"": list(ARMS)}, ["f1", "bleu"], {}, where="study.yaml")


@pytest.fixture
def comparisons() -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"run": "", "arm": arm, "kind": "arm", "metric": metric, "value": value, "seed": seed}
            | ({} if arm == "sft" else {"difference": value - SFT[seed], "p": 0.02})
            | ({} if arm == "sft" else {"difference_low": value - SFT[seed] - 0.04})
            | ({} if arm == "sft" else {"difference_high": value - SFT[seed] + 0.04})
            for arm, values in ARMS.items()
            for metric in ("f1", "bleu")
            for seed, value in enumerate(values)
        ]
    )


@pytest.fixture
def pairs() -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"run": "", "seed": seed, "metric": "f1", "arm": arm, "other": other, "error": error}
            for arm, other, error in (("sft", "grpo", 0.006), ("sft", "dpo", 0.0), ("grpo", "dpo", 0.02))
            for seed in range(3)
        ]
    )


def apart(comparisons: pd.DataFrame, pairs: pd.DataFrame, *claims: Hypothesis) -> list[Parts]:
    return parts(claims, comparisons, pairs, reference="sft", metrics=["f1", "bleu"], level=0.95)


def test_every_arm_is_taken_apart_and_what_claims_are_about(
    comparisons: pd.DataFrame, pairs: pd.DataFrame
) -> None:
    found = apart(comparisons, pairs, *asked())
    assert [(one.arm[1], one.over[1], one.metric) for one in found] == [
        ("grpo", "sft", "f1"),
        ("dpo", "sft", "f1"),
        ("dpo", "grpo", "f1"),
    ]
    grpo, dpo, pair = (one.spread for one in found)
    # 0.10, 0.09, 0.11: variance 1e-4, of which 0.006 ** 2 is the films'; the errors stand the other way round
    assert (grpo.total, grpo.films, grpo.training) == pytest.approx((1e-4, 3.6e-5, 6.4e-5))
    assert dpo.total == pytest.approx(0, abs=1e-12)
    # -0.09, -0.08, -0.10 against 0.02: less than the films explain
    assert pair.training == pytest.approx(1e-4 - 4e-4)


def test_nothing_is_said_of_one_seed_or_without_errors(
    comparisons: pd.DataFrame, pairs: pd.DataFrame
) -> None:
    assert apart(comparisons[comparisons["seed"] == 0], pairs) == []
    assert apart(comparisons, pd.DataFrame()) == []
    lost = pairs.assign(error=[math.nan, *pairs["error"][1:]])
    assert [one.arm[1] for one in apart(comparisons, lost)] == ["dpo"]


def test_the_best_row_of_each_seed_is_no_pair(comparisons: pd.DataFrame, pairs: pd.DataFrame) -> None:
    assert len(apart(comparisons, pairs, *asked(over="best_without_model"))) == 2


def test_page_and_csv_say_the_same(comparisons: pd.DataFrame, pairs: pd.DataFrame, tmp_path: Path) -> None:
    found = apart(comparisons, pairs, *asked())
    heading, _, text = section(found, asked(), ["bleu", "f1"], runs=False, level=0.95)
    assert heading == "## Where the spread between seeds comes from"
    # sqrt of 1e-4, 3.6e-5, 6.4e-5 and 6.4e-5 + 1.8e-5
    assert "| f1 | grpo | sft | 0.0100 | 0.0060 | 0.0080 (0.0000 to 0.0626) | 0.0091 |" in text
    assert "| f1 | dpo | grpo | 0.0100 | 0.0200 | 0.0000 (" in text
    lines(found).to_csv(tmp_path / "x.csv", index=False)
    table = pd.read_csv(tmp_path / "x.csv")
    assert table["variance_training"].tolist() == pytest.approx([6.4e-5, 0, -3e-4], abs=1e-12)
    assert not table["shared_films"].any()
    assert section(found, [], ["bleu"], runs=False, level=0.95) == []
    assert section([], asked(), ["f1"], runs=False, level=0.95) == []


def test_seeds_that_share_films_are_tested_by_training_alone(
    comparisons: pd.DataFrame, pairs: pd.DataFrame
) -> None:
    sharing = comparisons.assign(shared_films=True)
    found = apart(sharing, pairs, *asked())
    assert found[0].spread.training == pytest.approx(1e-4)
    assert "all of it is by training" in section(found, asked(), ["f1"], runs=False, level=0.95)[2]
    (apart_rows, shared_rows) = (
        next(row for row in pooled(of, 0.95) if (row.arm, row.metric) == ("dpo", "f1"))
        for of in (comparisons, sharing)
    )
    # every seed has 0.01 more: by its patients, 0.04 to either side, that is nothing, by training it is sure
    assert apart_rows.gain is not None
    assert shared_rows.gain is not None
    assert apart_rows.gain.low < 0 < shared_rows.gain.low
    own, shared = (
        judge(asked(arm="dpo", over="sft"), of, pairs, level=0.95) for of in (comparisons, sharing)
    )
    assert own[0].answer.pooled.error == 0  # the pair's own error, which is 0 here
    other, without = (
        judge(asked(arm="grpo", over="sft"), of, pairs, level=0.95) for of in (comparisons, sharing)
    )
    assert other[0].answer.pooled.error == pytest.approx(0.006 / math.sqrt(3))
    assert without[0].answer.pooled.error == 0
    assert shared[0].verdict == "supported"
