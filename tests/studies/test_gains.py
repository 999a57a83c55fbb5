"""Gains at home and away, by hand."""

from __future__ import annotations

import copy
from typing import Any

import pandas as pd
import pytest
import yaml

from radrl.params.schema import Params, validate
from radrl.studies import gains

VALUES = {  # by run and arm, a value a seed
    ("home", "sft"): [0.40, 0.42, 0.38],
    ("home", "grpo"): [0.50, 0.51, 0.49],  # gains 0.10, 0.09, 0.11
    ("away", "sft"): [0.30, 0.28, 0.32],
    ("away", "grpo"): [0.26, 0.22, 0.27],  # gains -0.04, -0.06, -0.05
}
HALF = {"home": 0.03, "away": 0.04}


def comparisons(seeds: int = 3) -> pd.DataFrame:
    lines = []
    for (run, arm), values in VALUES.items():
        for seed, value in enumerate(values[:seeds]):
            line: dict[str, Any] = {"run": run, "seed": seed, "arm": arm, "kind": "arm", "metric": "f1"}
            line |= {"value": value}
            if arm == "grpo":
                gain = value - VALUES[run, "sft"][seed]
                ends = {"difference_low": gain - HALF[run], "difference_high": gain + HALF[run]}
                line |= {"difference": gain, "p": 0.02, **ends}
            lines.append(line)
    return pd.DataFrame(lines)


def test_gains_their_shares_and_the_gap() -> None:
    (line,) = gains.lines(comparisons(), ("home", "away"), level=0.95).to_dict("records")
    assert (line["metric"], line["arm"], line["run"], line["other_run"]) == ("f1", "grpo", "home", "away")
    # mean gains 0.10 and -0.05; of sft's means 0.40 and 0.30: +25 % and -17 %
    assert (line["gain"], line["relative"]) == pytest.approx((0.10, 0.25))
    assert (line["other_gain"], line["other_relative"]) == pytest.approx((-0.05, -1 / 6))
    # gaps 0.14, 0.15, 0.16: mean 0.15
    assert line["gap"] == pytest.approx(0.15)
    # half width by the patients of a seed: (0.03^2 + 0.04^2)^(1/2) = 0.05, of three 0.05 / 3^(1/2) = 0.0289,
    # which is more than the t test of three gaps with sd 0.01 has: 4.303 x 0.01 / 3^(1/2) = 0.0248
    assert line["gap_high"] - line["gap"] == pytest.approx(0.05 / 3**0.5, abs=2e-4)
    assert line["p"] < 0.05
    assert line["p_holm"] == line["p"]


def test_one_seed_has_the_interval_of_its_patients() -> None:
    (line,) = gains.lines(comparisons(1), ("home", "away"), level=0.95).to_dict("records")
    assert line["gap"] == pytest.approx(0.14)
    assert (line["gap_low"], line["gap_high"]) == pytest.approx((0.09, 0.19))
    # z = 0.14 / (0.05 / 1.96) = 5.49
    assert line["p"] == pytest.approx(4.1e-8, rel=0.05)


def test_the_page_has_gains_in_per_cent() -> None:
    found = gains.lines(comparisons(), ("home", "away"), level=0.95)
    heading, said, table = gains.section(found, ["f1"], "sft")
    assert heading == "## Gains in home and elsewhere"
    assert "difference from sft" in said
    assert all(part in table for part in ("+25%", "-17%", "+0.150 ("))
    assert gains.section(gains.lines(comparisons(), (), level=0.95), ["f1"], "sft") == []


@pytest.fixture
def runs(root: Any) -> dict[str, dict[str, Any]]:
    values = yaml.safe_load((root / "params.yaml").read_text())
    found = {name: copy.deepcopy(values) for name in ("home", "away")}
    found["away"]["generate"]["split"] = "away"
    return found


def of(runs: dict[str, dict[str, Any]]) -> tuple[str, ...]:
    params: dict[str, Params] = {name: validate(values) for name, values in runs.items()}
    return gains.runs_by_split(params)


def test_runs_are_of_one_training_where_the_split_alone_differs(runs: dict[str, dict[str, Any]]) -> None:
    assert of(runs) == ("home", "away")
    assert of({"home": runs["home"]}) == ()
    assert of({"home": runs["home"], "again": runs["home"]}) == ()
    runs["away"]["training"]["steps"] = 7
    assert of(runs) == ()
