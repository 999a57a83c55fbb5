"""A study's table and page on made-up comparisons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pandas as pd
import pytest

from radrl.evaluation.paired import holm
from radrl.evaluation.pooling import pool_differences, standard_error
from radrl.pages.tables import p_value
from radrl.studies.budget import Budget, FilmExposure
from radrl.studies.page import Described, page, table
from radrl.studies.published import OtherRows, Published
from radrl.studies.tables import pooled

Make = Callable[..., Described]
OVERALL = "## Over 3 seeds"
PAPER = Published(
    "DEER, table 4",
    "MIMIC-CXR",
    "CheXbert example-based",
    {"f1": "f1"},
    {("", "sft"): "SFT", ("", "grpo"): "GRPO, 100%"},
    {("", "sft"): {"f1": 0.385}, ("", "grpo"): {"f1": 0.507}},
    {("", "sft"): {}, ("", "grpo"): {"f1": 0.122}},
)


def cells(text: str, arm: str, metric: str, heading: str, *, run: str = "") -> list[str]:
    part = text[text.index(heading) :]
    begins = " | ".join(["|", metric, *([run] if run else []), arm, ""]).replace("| | ", "| ")
    (line,) = [line for line in part.split("\n##")[0].splitlines() if line.startswith(begins)]
    return [cell.strip() for cell in line.removeprefix(begins).strip("|").split("|")]


def test_arms_are_pooled_over_seeds(rows: pd.DataFrame, described: Make) -> None:
    found = pool_differences([0.10, 0.09, 0.11], [standard_error(-0.04, 0.04)] * 3)
    other = pool_differences([0.0, 0.02, -0.03], [standard_error(-0.04, 0.04)] * 3)
    corrected, _ = holm([found.p, other.p])
    mean, gain, p, beaten = cells(page(rows, described()), "grpo", "f1", OVERALL)
    assert mean == "0.420 ± 0.017"
    # t: 4.303 * 0.01 / sqrt(3) = 0.0248; patients: 0.04 / sqrt(3) = 0.0231
    assert gain == "+0.100 (+0.075 to +0.125)"
    assert p == f"{found.p:.3f}, {corrected:.3f}"
    assert beaten == "-"


def test_a_trivial_row_with_a_higher_mean_is_named(rows: pd.DataFrame, described: Make) -> None:
    text = page(rows, described())
    assert cells(text, "sft", "f1", OVERALL)[-1] == "constant"
    # 0.25 in one seed is higher than grpo's 0.2, the mean of 0.15 is not
    assert cells(text, "grpo", "bleu", OVERALL)[-1] == "-"
    assert cells(text, "reference_report", "f1", OVERALL)[-1] == "-"


def test_a_row_that_reads_labels_off_films_is_listed_and_judges_nobody(
    rows: pd.DataFrame, described: Make
) -> None:
    values = {"arm": "label_network", "kind": "reader", "metric": "f1", "value": 0.8}
    read = pd.DataFrame([{"run": "", "seed": seed, **values} for seed in range(3)])
    text = page(pd.concat([rows, read]), described())
    assert cells(text, "label_network", "f1", OVERALL) == ["0.800 ± 0.000", "-", "-", "-"]
    without = page(rows, described())
    for arm in ("sft", "grpo", "dpo"):
        assert cells(text, arm, "f1", OVERALL) == cells(without, arm, "f1", OVERALL)


def test_a_row_of_another_system_is_marked_and_judges_nobody(rows: pd.DataFrame, described: Make) -> None:
    values = {"arm": "MAIRA 2", "kind": "system", "metric": "f1", "value": 0.8, "source": "outputs.csv"}
    theirs = pd.DataFrame([{"run": "", "seed": seed, **values} for seed in range(3)])
    text = page(pd.concat([rows, theirs]), described())
    assert cells(text, "MAIRA 2 (not ours)", "f1", OVERALL) == ["0.800 ± 0.000", "-", "-", "-"]
    assert cells(text, "grpo", "f1", OVERALL) == cells(page(rows, described()), "grpo", "f1", OVERALL)


def test_only_arms_under_study_are_hypotheses(rows: pd.DataFrame, described: Make) -> None:
    text = page(rows, described())
    for arm in ("sft", "constant", "reference_report"):
        assert cells(text, arm, "f1", OVERALL)[2] == "-"
    assert cells(text, "constant", "f1", OVERALL)[1] != "-"
    assert cells(text, "sft", "f1", OVERALL)[1] == "-"


def test_each_seed_is_shown(rows: pd.DataFrame, described: Make) -> None:
    text = page(rows, described())
    assert cells(text, "dpo", "f1", "## Seed by seed") == [
        "+0.000 (-0.040 to +0.040)",
        "+0.020 (-0.020 to +0.060)",
        "-0.030 (-0.070 to +0.010)",
    ]
    by_seed = text[text.index("## Seed by seed") :]
    assert "| f1 | sft |" not in by_seed
    assert "constant" not in by_seed


def test_the_order_of_seeds_changes_nothing(rows: pd.DataFrame, described: Make) -> None:
    shuffled = pd.concat([rows[rows["seed"] == seed] for seed in (2, 0, 1)])
    assert page(shuffled, described()) == page(rows, described())


def test_a_single_seed_has_the_interval_over_its_patients(rows: pd.DataFrame, described: Make) -> None:
    text = page(rows[rows["seed"] == 0], described())
    assert "Over" not in text
    assert "Seed by seed" not in text
    # both arms have p = 0.02 there, which Holm doubles
    assert cells(text, "grpo", "f1", "## Seed 0") == [
        "0.400",
        "+0.100 (+0.060 to +0.140)",
        "0.020, 0.040",
        "-",
    ]


def test_a_seed_without_an_arm_is_refused(rows: pd.DataFrame, described: Make) -> None:
    lacking = rows[(rows["arm"] != "dpo") | (rows["seed"] != 1)]
    with pytest.raises(ValueError, match="dpo on f1 is in 2 of 3 seeds"):
        page(lacking, described())


@pytest.mark.parametrize(
    ("column", "arm", "run"),
    [
        ("value", "sft", ""),
        ("value", "constant", ""),
        ("difference", "dpo", ""),
        ("p", "grpo", "few"),
    ],
)
def test_a_seed_without_a_number_is_named_and_left_out_of_no_mean(
    rows: pd.DataFrame, column: str, arm: str, run: str
) -> None:
    there = (rows["arm"] == arm) & (rows["metric"] == "f1") & (rows["seed"] == 1)
    rows.loc[there, column] = float("nan")
    named = f"{'run few, ' if run else ''}{arm} on f1: no {column} in seed 1, "
    with pytest.raises(ValueError, match=f"^{named}"):
        pooled(rows.assign(run=run), 0.95)


def test_differences_over_too_few_patients_have_no_p(rows: pd.DataFrame, described: Make) -> None:
    few = rows.assign(p=rows["p"].mask(rows["metric"] == "f1"))
    mean, gain, p, _ = cells(page(few, described()), "grpo", "f1", OVERALL)
    assert (mean, gain, p) == ("0.420 ± 0.017", "+0.100 (+0.075 to +0.125)", "-")
    assert cells(page(few, described()), "grpo", "bleu", OVERALL)[2] != "-"


def test_phantoms_and_only_they_are_no_patients(rows: pd.DataFrame, described: Make) -> None:
    assert "They say nothing about patients." in page(rows, described())
    assert "They say nothing about patients." in page(rows, described(source="iu_xray"))
    assert "nothing about patients" not in page(rows, described(source="iu_xray", drawn=False))


def test_the_papers_value_is_another_quantity(rows: pd.DataFrame, described: Make) -> None:
    text = page(rows, described(published=PAPER))
    assert cells(text, "grpo", "f1", OVERALL)[-1] == "0.507 (+0.122)"
    assert cells(text, "sft", "f1", OVERALL)[-1] == "0.385"
    assert cells(text, "dpo", "f1", OVERALL)[-1] == "-"
    assert cells(text, "grpo", "bleu", OVERALL)[-1] == "-"
    for said in (
        "DEER, table 4 (f1 beside `f1`; in brackets",
        "another quantity: MIMIC-CXR",
        "CheXbert example-based",
    ):
        assert said in text
    assert "| grpo | sft | full | 50 | 3,200 | - | GRPO, 100% |" in text


def test_other_systems_are_listed_as_published_and_not_ours(rows: pd.DataFrame, described: Make) -> None:
    heading = "## Other rows, as published"
    assert heading not in page(rows, described(published=PAPER))
    others = [
        OtherRows("DEER, table 1", "example-based", {"R2Gen": {"f1": 0.5188}, "OISA, 100%": {"green": 0.327}})
    ]
    text = page(rows, described(published=replace(PAPER, others=others)))
    part = text[text.index(heading) :]
    assert "Not ours: as the paper prints them, measured on MIMIC-CXR." in part
    assert "| DEER, table 1 (example-based) | f1 | green |" in part
    assert "| R2Gen | 0.5188 | - |" in part
    assert "| OISA, 100% | - | 0.327 |" in part
    assert text.index("## Seed by seed") < text.index(heading)


def test_the_films_an_arm_sees_stand_in_its_budget(rows: pd.DataFrame, described: Make) -> None:
    budgets = {("", "grpo"): Budget("sft", "full", 50, 3200, 0, seen=FilmExposure(1200, 1 / 3, 400))}
    text = page(rows, described(budgets=budgets))
    assert "| arm | starts from | trains on | updates | rollouts | films seen |" in text
    assert "| grpo | sft | full | 50 | 3,200 | 400 of about 1,200 |" in text


def test_unequal_budgets_are_said(rows: pd.DataFrame, described: Make) -> None:
    assert "do not spend the same" not in page(rows, described())
    budgets = {("", "grpo"): Budget("sft", "full", 50, 3200, 0)}
    budgets["", "dpo"] = Budget("sft", "ddsampling", 10, 640, 10)
    text = page(rows, described(budgets=budgets))
    assert "10 to 50 updates, 640 to 3,200 rollouts" in text
    assert "needs 10 rollouts of every training film" in text


def two_runs(rows: pd.DataFrame) -> pd.DataFrame:
    """A second run whose grpo is 0.1 better."""
    other = rows.assign(run="more")
    gained = other["arm"] == "grpo"
    for column in ("value", "difference", "difference_low", "difference_high"):
        other.loc[gained, column] += 0.1
    return pd.concat([rows.assign(run="less"), other])


def test_runs_stand_below_one_another(rows: pd.DataFrame, described: Make) -> None:
    study = described(variations={"less": {}, "more": {"selection.random.share": 0.5}})
    text = page(two_runs(rows), study)
    assert cells(text, "grpo", "f1", OVERALL, run="more")[:2] == [
        "0.520 ± 0.017",
        "+0.200 (+0.175 to +0.225)",
    ]
    assert "- more: `selection.random.share = 0.5`" in text
    # rows without a model are the same in both: once is enough
    lines = text.splitlines()
    assert [line[:22] for line in lines if "| constant | 0" in line and "f1" in line] == [
        "| f1 | less | constant"
    ]


def test_holm_runs_over_the_arms_of_all_runs(rows: pd.DataFrame) -> None:
    found = [row for row in pooled(two_runs(rows), 0.95) if row.metric == "f1" and row.p_holm is not None]
    assert len(found) == 4
    assert [row.p_holm for row in found] == holm([row.gain.p for row in found if row.gain])


def test_the_csv_has_the_same_numbers_unrounded(rows: pd.DataFrame, described: Make) -> None:
    lines = table(rows, described(published=PAPER)).set_index(["metric", "arm"])
    grpo = lines.loc[("f1", "grpo")]
    assert grpo["mean"] == pytest.approx(0.42)
    assert grpo["difference"] == pytest.approx(0.1)
    assert (grpo["updates"], grpo["rollouts"]) == (50, 3200)
    assert (grpo["paper_row"], grpo["paper_value"]) == ("GRPO, 100%", 0.507)
    assert lines.loc[("f1", "sft"), "beaten_by"] == "constant"
    assert pd.isna(lines.loc[("bleu", "grpo"), "paper_value"])


def test_the_csv_says_of_each_row_which_settings_decided_it(rows: pd.DataFrame, described: Make) -> None:
    lines = table(rows, described(settings={"": lambda row, metric: f"{row} by {metric}"}))
    assert lines["settings"].tolist() == [f"{line.arm} by {line.metric}" for line in lines.itertuples()]


@pytest.mark.parametrize(
    ("p", "said"),
    [(0.0004, "< 0.001"), (0.0005, "0.001"), (0.0316, "0.032"), (1.0, "1.000"), (float("nan"), "–")],
)
def test_a_p_value_is_never_said_to_be_nothing(p, said):
    assert p_value(p) == said
