"""Training curves over seeds, on histories made up of a few numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from small_arms import MIXING

from radrl.params.schema import validate
from radrl.studies.curves import COLUMNS, HISTORIES, LABELS, averaged, over_seeds, with_and_without
from radrl.studies.execution import Experiment

Histories = dict[tuple[str, int], dict[str, pd.DataFrame]]
MACRO = "watch/ce_rules_macro14_f1"
SETTINGS: dict[str, Any] = {
    "accuracy": {"weight": 1.0, "agreement": "all", "uncertain_as_positive": False},
    "facts": {
        "weight": 1.0,
        "extractor": "rules",
        "entailment": "labeler",
        "uncertain_as_positive": False,
        "beta": 1.5,
        "xi": 1e-8,
        "both_empty": 1.0,
    },
    "oracle": MIXING,
}


def history(rewards: list[float], watched: dict[int, float], **more: float) -> pd.DataFrame:
    """One step's reward a step from 1 on, a look at the steps of `watched`, and columns that never change."""
    table = pd.DataFrame({"step": range(len(rewards) + 1), "reward": [float("nan"), *rewards]})
    table[MACRO] = table["step"].map(watched)
    return table.assign(loss=0.5, **more)


def labels(**positives: int) -> pd.DataFrame:
    """Reports of the training split with so many positives a finding, and one of the test split with all."""
    from radrl.observations import FINDINGS, POSITIVE

    rows = [
        {"split": "train", **{name: POSITIVE * (i < positives.get(name, 0)) for name in FINDINGS}}
        for i in range(40)
    ]
    return pd.DataFrame([*rows, *([{"split": "test", **dict.fromkeys(FINDINGS, POSITIVE)}] * 20)])


def line(found: pd.DataFrame, what: str, step: int, arm: str = "grpo") -> dict[str, Any]:
    own = found[(found["what"] == what) & (found["step"] == step) & (found["arm"] == arm)]
    (only,) = own.to_dict("records")
    return {str(key): value for key, value in only.items()}


@pytest.fixture
def two_seeds() -> Histories:
    first = history([0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9], {0: 0.30, 7: 0.50})
    second = history([0.3, 0.4, 0.5, 0.6, 0.7, 0.9, 1.1], {0: 0.34, 7: 0.40})
    return {("", 0): {"grpo": first}, ("", 1): {"grpo": second}}


def test_steps_are_averaged_by_five_and_then_over_seeds(two_seeds: Histories) -> None:
    found = averaged(two_seeds, [])
    assert tuple(found.columns) == COLUMNS
    # the five steps' means are 0.3 and 0.5, the two left over give 0.8 and 1.0
    early, late = line(found, "reward", 5), line(found, "reward", 10)
    assert (early["mean"], early["seeds"]) == (pytest.approx(0.4), 2)
    assert early["sd"] == pytest.approx(0.2 / 2**0.5)
    assert late["mean"] == pytest.approx(0.9)
    assert sorted(found[found["what"] == "reward"]["step"]) == [5, 10]


def test_looks_stand_at_their_own_steps(two_seeds: Histories) -> None:
    found = averaged(two_seeds, [])
    assert line(found, MACRO, 0)["mean"] == pytest.approx(0.32)
    assert line(found, MACRO, 7)["mean"] == pytest.approx(0.45)
    assert line(found, MACRO, 7)["sd"] == pytest.approx(0.1 / 2**0.5)
    assert "loss" not in {*found["what"]}


def test_a_seed_that_ends_earlier_is_not_counted_behind_its_end(two_seeds: Histories) -> None:
    two_seeds["", 1] = {"grpo": two_seeds["", 1]["grpo"].head(6)}  # steps 0 to 5
    found = averaged(two_seeds, [])
    assert [line(found, "reward", step)["seeds"] for step in (5, 10)] == [2, 1]
    assert line(found, "reward", 10)["mean"] == pytest.approx(0.8)
    assert pd.isna(line(found, "reward", 10)["sd"])


def test_runs_and_arms_keep_the_studys_order(two_seeds: Histories) -> None:
    one = two_seeds["", 0]["grpo"]
    given = {(run, seed): {"zeta": one, "alpha": one} for seed in (0, 1) for run in ("many", "few")}
    found = averaged(given, [])
    places = [*dict.fromkeys(zip(found["run"], found["arm"], strict=True))]
    assert places == [("many", "zeta"), ("many", "alpha"), ("few", "zeta"), ("few", "alpha")]


def test_of_labels_those_of_figure_2_are_kept_and_the_two_rarest_of_all_seeds() -> None:
    names = ("Pneumonia", "Fracture", "Edema", "Lung Lesion", "Cardiomegaly", "Pneumothorax")
    looks = {f"watch/ce_rules_f1/{name}": 0.5 for name in names}
    table = history([0.1], {}, **looks)
    few = labels(**{"Edema": 30, "Lung Lesion": 12, "Cardiomegaly": 20, "Pneumothorax": 9})
    more = labels(**{"Edema": 30, "Lung Lesion": 40, "Cardiomegaly": 21, "Pneumothorax": 40})
    found = averaged({("", 0): {"grpo": table}, ("", 1): {"grpo": table}}, [few, more])
    kept = {what.rpartition("/")[2] for what in found["what"] if "_f1/" in what}
    # Pneumothorax has under 10 in a seed, Edema 60 in both, Lung Lesion 52, Cardiomegaly 41
    assert kept == {"Pneumonia", "Fracture", "Lung Lesion", "Cardiomegaly"}


def test_a_rare_label_that_a_seeds_watched_films_lack_gives_its_place_to_the_next() -> None:
    seen = {f"watch/ce_rules_f1/{name}": 0.5 for name in ("Edema", "Lung Lesion", "Cardiomegaly")}
    first, second = (
        history([0.1], {}, **seen),
        history([0.1], {}, **seen).drop(columns="watch/ce_rules_f1/Edema"),
    )
    counts = labels(**{"Edema": 10, "Lung Lesion": 11, "Cardiomegaly": 12})
    found = averaged({("", 0): {"grpo": first}, ("", 1): {"grpo": second}}, [counts, counts])
    kept = {what.rpartition("/")[2] for what in found["what"] if "_f1/" in what}
    assert kept == {"Lung Lesion", "Cardiomegaly"}


def test_histories_are_read_from_the_clones(tmp_path: Path, two_seeds: Histories) -> None:
    given = [
        Experiment("", seed, {"arms": {"sft": {}, "grpo": {}}}, tmp_path / f"seed-{seed}") for seed in (0, 1)
    ]
    for one in given:
        (one.clone / HISTORIES).mkdir(parents=True)
        (one.clone / LABELS).parent.mkdir(parents=True)
        labels().to_parquet(one.clone / LABELS)
        (one.clone / HISTORIES / "sft.csv").write_text("step\n")
        two_seeds["", one.seed]["grpo"].to_csv(one.clone / HISTORIES / "grpo.csv", index=False)
    found = over_seeds(given)
    assert {*found["arm"]} == {"grpo"}
    assert line(found, "reward", 5)["mean"] == pytest.approx(0.4)


def test_without_training_there_are_no_curves() -> None:
    found = averaged({("", 0): {}}, [])
    assert tuple(found.columns) == COLUMNS
    assert found.empty


def test_an_oracle_stands_beside_the_arm_most_like_it_without(recipe: dict[str, Any]) -> None:
    common = {"start": "base", "selection": "balanced", "credit": "uniform", "oracle": "none"}
    facts = {**common, "reward": {"facts": SETTINGS["facts"]}}
    arms = {
        "base": {"start": "base", "selection": "full"},
        "elsewhere": {**common, "start": "sft", "reward": {"accuracy": SETTINGS["accuracy"]}},
        "accuracy": {**common, "reward": {"accuracy": SETTINGS["accuracy"]}},
        "facts": facts,
        "orapo": {**facts, "oracle": SETTINGS["oracle"]},
        "full": {**common, "selection": "full", "reward": {"accuracy": SETTINGS["accuracy"]}},
    }
    compared = {**recipe["compare"], "reference": "base"}

    def chosen(*names: str) -> list[str]:
        own = validate(
            recipe | {"arms": {name: arms[name] for name in names}, "compare": compared}, source="x"
        )
        return [arm for _, arm in with_and_without({"": own})]

    assert chosen("base", "elsewhere", "accuracy", "facts", "orapo", "full") == ["accuracy", "facts", "orapo"]
    assert chosen("base", "elsewhere", "orapo") == ["elsewhere", "orapo"]
    assert chosen("base", "orapo") == []
    assert chosen("base", "accuracy", "full") == []
