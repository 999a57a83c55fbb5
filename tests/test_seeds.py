"""tools/seeds.py on made-up comparisons."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest

from radrl.evaluation.paired import holm
from radrl.evaluation.pooling import pool_differences, standard_error

METRICS = ["f1", "bleu"]
SETTINGS: dict[str, Any] = {
    "metrics": METRICS,
    "reference": "sft",
    "bootstrap": {"confidence": 0.95, "resamples": 1},
}
VALUES = {  # by arm and metric, a value a seed
    ("sft", "f1"): [0.30, 0.34, 0.32],
    ("grpo", "f1"): [0.40, 0.43, 0.43],  # differences 0.10, 0.09, 0.11
    ("dpo", "f1"): [0.30, 0.36, 0.29],
    ("constant", "f1"): [0.35, 0.35, 0.35],
    ("reference_report", "f1"): [1.0, 1.0, 1.0],
    ("sft", "bleu"): [0.2, 0.2, 0.2],
    ("grpo", "bleu"): [0.2, 0.2, 0.2],
    ("dpo", "bleu"): [0.1, 0.1, 0.1],
    ("constant", "bleu"): [0.15, 0.25, 0.05],
    ("reference_report", "bleu"): [1.0, 1.0, 1.0],
}
KINDS = {"constant": "trivial", "reference_report": "ceiling"}


@pytest.fixture(scope="module")
def seeds(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("seeds", root / "tools" / "seeds.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def rows() -> pd.DataFrame:
    lines = []
    for (arm, metric), values in VALUES.items():
        for seed, value in enumerate(values):
            line = {"arm": arm, "kind": KINDS.get(arm, "arm"), "metric": metric, "value": value, "seed": seed}
            if arm not in ("sft", "reference_report"):
                difference = value - VALUES["sft", metric][seed]
                ends = {"difference_low": difference - 0.04, "difference_high": difference + 0.04}
                line |= {"difference": difference, **ends}
            lines.append(line)
    return pd.DataFrame(lines).sort_values("seed", kind="stable")


def cells(text: str, arm: str, metric: str, heading: str) -> list[str]:
    part = text[text.index(heading) :]
    (line,) = [
        line for line in part.split("\n##")[0].splitlines() if line.startswith(f"| {metric} | {arm} |")
    ]
    return [cell.strip() for cell in line.strip("|").split("|")][2:]


def test_arms_are_pooled_over_seeds(seeds: ModuleType, rows: pd.DataFrame) -> None:
    text = seeds.page(rows, SETTINGS)
    found = pool_differences([0.10, 0.09, 0.11], [standard_error(-0.04, 0.04)] * 3)
    other = pool_differences([0.0, 0.02, -0.03], [standard_error(-0.04, 0.04)] * 3)
    corrected, _ = holm([found.p, other.p])
    mean, gain, p, beaten = cells(text, "grpo", "f1", "## Over all seeds")
    assert mean == "0.420 ± 0.017"
    # t: 4.303 * 0.01 / sqrt(3) = 0.0248; patients: 0.04 / sqrt(3) = 0.0231
    assert gain == "+0.100 (+0.075 to +0.125)"
    assert p == f"{found.p:.3f}, {corrected:.3f}"
    assert beaten == "-"


def test_a_trivial_row_with_a_higher_mean_is_named(seeds: ModuleType, rows: pd.DataFrame) -> None:
    text = seeds.page(rows, SETTINGS)
    assert cells(text, "sft", "f1", "## Over all seeds")[-1] == "constant"
    # 0.25 in one seed is higher than grpo's 0.2, the mean of 0.15 is not
    assert cells(text, "grpo", "bleu", "## Over all seeds")[-1] == "-"
    assert cells(text, "reference_report", "f1", "## Over all seeds")[-1] == "-"


def test_only_arms_under_study_are_hypotheses(seeds: ModuleType, rows: pd.DataFrame) -> None:
    text = seeds.page(rows, SETTINGS)
    for arm in ("sft", "constant", "reference_report"):
        assert cells(text, arm, "f1", "## Over all seeds")[2] == "-"
    assert cells(text, "constant", "f1", "## Over all seeds")[1] != "-"
    assert cells(text, "sft", "f1", "## Over all seeds")[1] == "-"


def test_each_seed_is_shown(seeds: ModuleType, rows: pd.DataFrame) -> None:
    text = seeds.page(rows, SETTINGS)
    assert cells(text, "dpo", "f1", "## Seed by seed") == [
        "+0.000 (-0.040 to +0.040)",
        "+0.020 (-0.020 to +0.060)",
        "-0.030 (-0.070 to +0.010)",
    ]
    assert "| f1 | sft |" not in text[text.index("## Seed by seed") :]


def test_the_order_of_seeds_changes_nothing(seeds: ModuleType, rows: pd.DataFrame) -> None:
    shuffled = pd.concat([rows[rows["seed"] == seed] for seed in (2, 0, 1)])
    assert seeds.page(shuffled, SETTINGS) == seeds.page(rows, SETTINGS)


def test_a_single_seed_is_not_pooled(seeds: ModuleType, rows: pd.DataFrame) -> None:
    text = seeds.page(rows[rows["seed"] == 0], SETTINGS)
    assert "Over all seeds" not in text
    assert cells(text, "grpo", "f1", "## Seed by seed") == ["+0.100 (+0.060 to +0.140)"]


def test_a_seed_without_an_arm_is_refused(seeds: ModuleType, rows: pd.DataFrame) -> None:
    lacking = rows[(rows["arm"] != "dpo") | (rows["seed"] != 1)]
    with pytest.raises(ValueError, match="dpo on f1 is in 2 of 3 seeds"):
        seeds.page(lacking, SETTINGS)
