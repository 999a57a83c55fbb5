"""Study files: what they make of a recipe, what is refused, and those that ship."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from radrl.data.sources import is_drawn
from radrl.evaluation.clinical_efficacy import gold_labeler
from radrl.params.messages import ParamsError
from radrl.params.schema import validate
from radrl.scoring.names import WITHOUT_MODEL, names
from radrl.studies.budget import budgets, unequal
from radrl.studies.file import SINGLE, read, unshared_copy

STUDIES = sorted((Path(__file__).parents[2] / "conf" / "recipes").glob("study-*.yaml"))
PAPER = {
    "name": "DEER",
    "table": "1",
    "dataset": "MIMIC-CXR",
    "metrics": {"ce_rules_sample14_f1": "f1"},
    "rows": {"grpo": {"method": "GRPO", "rl_train_size": "100%"}},
}
Read = Callable[..., Any]


@pytest.fixture
def study(tmp_path: Path, root: Path) -> Read:
    def write(**keys: Any) -> Any:
        path = tmp_path / "study-trial.yaml"
        given = {"title": "A trial", "recipe": "phantom-60-updates.yaml", "seeds": [0, 1], **keys}
        path.write_text(yaml.safe_dump({key: value for key, value in given.items() if value is not None}))
        return read(path, root)

    return write


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_shipped_study_is_valid(path: Path, root: Path) -> None:
    study = read(path, root)
    readers = ("rules", "chexbert_compact", "chexbert")
    known = {name for family in WITHOUT_MODEL for name in names(family, readers)}
    known |= {*names("ce", [gold_labeler(reader) for reader in readers])}
    of_models = {"radgraph": {"radgraph_partial"}, "green": {"green"}}  # whose names their models tell
    for params in study.runs.values():
        asked = set().union(*(own for name, own in of_models.items() if name in params.eval.families))
        assert set(params.compare.metrics) <= known | asked
        used = {name for name in readers if any(m.startswith(f"ce_{name}_") for m in params.compare.metrics)}
        assert used - {"chexbert"} <= set(params.eval.labelers)
    # what trains in epochs is there to have other budgets, and the shipped arms train until they are level
    if study.recipe == "phantom-60-updates.yaml" and path.stem != "study-tuning-length":
        assert unequal({at: one for at, one in budgets(study.runs).items() if one.epochs is None}) is None


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_shipped_study_says_how_it_is_launched_and_what_drawn_films_are_worth(path: Path, root: Path) -> None:
    header = path.read_text().split("\n\n", 1)[0]
    assert f"radrl study conf/recipes/{path.name}" in header
    ingest = read(path, root).params.ingest
    assert ("They say nothing about patients." in header) == is_drawn(ingest.model_dump())


def test_a_study_of_a_recipe_alone_is_the_recipe(study: Read, recipe: dict[str, Any]) -> None:
    made = study()
    assert made.values == {SINGLE: recipe}
    assert (made.seeds, made.recipe) == ((0, 1), "phantom-60-updates.yaml")


def test_keys_are_laid_over_the_recipe(study: Read, recipe: dict[str, Any]) -> None:
    made = study(
        set={"training.steps": 7, "arms.grpo.training": {"kl": 0.1}},
        runs={"few": {"set": {"training.steps": 5}, "arms": ["sft", "grpo"]}, "many": {}},
        reference="grpo",
        metrics=["nlg_bleu4"],
    )
    few, many = made.runs["few"], made.runs["many"]
    assert (few.training.steps, many.training.steps) == (5, 7)
    assert (list(few.arms), list(many.arms)) == (["sft", "grpo"], list(recipe["arms"]))
    assert few.arms["grpo"].training == {"kl": 0.1}
    assert (few.compare.reference, few.compare.metrics) == ("grpo", ["nlg_bleu4"])
    assert made.variations == {"few": {"training.steps": 5}, "many": {}}


def test_arms_take_the_place_of_the_recipes(study: Read) -> None:
    arms = {"one": {"start": "base", "selection": "full"}, "two": {"start": "sft", "selection": "full"}}
    assert list(study(arms=arms, reference="one").params.arms) == ["one", "two"]


def test_what_an_anchor_shares_is_not_shared() -> None:
    shared = {"training": {"steps": 1}}
    copy = unshared_copy({"a": shared, "b": shared})
    copy["a"]["training"]["steps"] = 2
    assert copy["b"] == {"training": {"steps": 1}}


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (
            {"recipe": "phantom-lap.yaml"},
            r"recipe: there is no 'phantom-lap.yaml'; did you mean 'phantom-laptop.yaml'",
        ),
        ({"seed": [1]}, r"seed: no such key; did you mean 'seeds'"),
        ({"seeds": []}, "seeds: "),
        ({"seeds": [1, 1]}, r"seeds: \[1, 1\] names a seed twice"),
        ({"title": None}, "title: is missing"),
        ({"runs": {"a b": {}}}, "'a b': a run's name"),
        ({"set": {"seed": 3}}, "set.seed: a study's seeds are listed under `seeds`"),
        ({"set": {"trainig.steps": 3}}, r"set.trainig.steps: no key 'trainig'; did you mean 'training'"),
        ({"set": {"training.step": 3}}, r"training.step: no such key; did you mean 'steps'"),
        ({"set": {"tread": 3}}, r"set.tread: no key 'tread'; did you mean 'threads'"),
        ({"set": {"arms.grpoo": {}}}, r"set.arms.grpoo: no key 'grpoo'; did you mean 'grpo'"),
        ({"set": {"training.steps.more": 1}}, "set.training.steps.more: training.steps is no section but"),
        ({"set": {"training.steps": 0}}, "training.steps"),
        ({"runs": {"a": {"set": {"threads": "x"}}}}, "run a, laid over phantom-60-updates.yaml"),
        ({"runs": {"a": {"arms": ["gpro"]}}}, r"run a: arms: 'gpro' is no arm; did you mean 'grpo'"),
        ({"runs": {"a": {"arms": ["grpo"]}}}, "compare.reference 'sft' is no arm"),
        ({"reference": "nobody"}, "compare.reference 'nobody' is no arm"),
        ({"paper": {**PAPER, "name": "DEERS"}}, r"paper.name: .* has no 'DEERS'; did you mean 'DEER'"),
        ({"paper": {**PAPER, "table": "9"}}, "paper.table: .* has no '9'"),
        ({"paper": {**PAPER, "dataset": "IU"}}, "paper.dataset: .* has no 'IU'. Valid keys: MIMIC-CXR"),
        (
            {"paper": {**PAPER, "rows": {"grpoo": "GRPO"}}},
            "'grpoo' is no arm of the study; did you mean 'grpo'",
        ),
        ({"paper": {**PAPER, "rows": {"few.grpo": "GRPO"}}}, "there is no run 'few'"),
        (
            {"paper": {**PAPER, "rows": {"grpo": "GRPO"}}},
            r"several sizes \(100%, 20%\); write \{method: GRPO",
        ),
        ({"paper": {**PAPER, "rows": {"grpo": "GRP"}}}, "no row 'GRP'; did you mean 'GRPO'"),
        (
            {"paper": {**PAPER, "rows": {"grpo": {"method": "GRPO", "rl_train_size": "5%"}}}},
            "'5%' is none of 'GRPO'",
        ),
        ({"paper": {**PAPER, "metrics": {"f1": "f1"}}}, "paper.metrics: 'f1' is none of the study's"),
        (
            {"paper": {**PAPER, "metrics": {"nlg_bleu4": "bleu"}}},
            "metrics.nlg_bleu4: the table has no column 'bleu'; did you mean 'bleu4'",
        ),
    ],
)
def test_a_bad_study_names_the_key_and_the_mend(study: Read, keys: dict[str, Any], said: str) -> None:
    with pytest.raises(ParamsError, match=said) as refused:
        study(**keys)
    assert "study-trial.yaml" in str(refused.value)


def test_the_papers_rows_are_found_for_arm_and_run(study: Read) -> None:
    rows = {
        "sft": {"method": "GRPO", "rl_train_size": "20%"},
        "few.grpo": {"method": "GRPO", "rl_train_size": "100%"},
    }
    runs = {name: {"arms": ["sft", "grpo"]} for name in ("few", "many")}
    found = study(runs=runs, paper={**PAPER, "rows": rows}).published
    assert found.rows == {
        ("few", "sft"): "GRPO, 20%",
        ("many", "sft"): "GRPO, 20%",
        ("few", "grpo"): "GRPO, 100%",
    }
    assert found.values["few", "grpo"] == {"ce_rules_sample14_f1": 0.507}
    assert found.gains["few", "grpo"]["ce_rules_sample14_f1"] == pytest.approx(0.507 - 0.502)
    assert found.gains["few", "sft"] == {}
    assert found.protocol == "CheXbert example-based (PromptMRG)"


def test_the_tables_other_rows_are_found(study: Read) -> None:
    """All systems of the table but the rows beside an arm, and those of a further table that is asked for."""
    rows = {"grpo": {"method": "GRPO", "rl_train_size": "20%"}, "sft": "R2Gen"}
    first, second = study(paper={**PAPER, "rows": rows, "others": ["4"]}).published.others
    assert (first.table, second.table) == ("DEER, table 1", "DEER, table 4")
    assert len(first.rows) == 18 - 2
    assert "R2Gen" not in first.rows
    assert first.rows["GRPO, 100%"]["f1"] == 0.507
    assert first.rows["OISA, 100%"] == {"f1": 0.504, "bleu4": 0.121, "green": 0.327, "radgraph_f1": 0.254}
    assert first.rows["CvT2DistilGPT2"]["meteor"] == 0.153
    assert list(second.rows) == [
        "SFT",
        "DiTPO rule, 100%",
        "DiTPO grad, 100%",
        "DEER rule, 20%",
        "DEER grad, 20%",
    ]


def test_a_further_table_that_is_not_there_is_named(study: Read) -> None:
    with pytest.raises(ParamsError, match=r"paper\.others: published_results\.csv has no '9'"):
        study(paper={**PAPER, "others": ["9"]})


SHARES = {
    "half": {"set": {"selection.random.share": 0.5}},
    "whole": {"set": {"selection.random.share": 1.0}},
}
BALANCED = {
    "many": {"set": {"selection.balanced.studies": 250}},
    "few": {"set": {"selection.balanced.studies": 100}},
}


def arms(*selections: str, **differing: Any) -> dict[str, Any]:
    arm = {"start": "sft", "reward": {"ce_f1": REWARD}, "credit": "uniform", "oracle": "none"}
    trained = {f"on_{name}": arm | {"selection": name} for name in selections}
    trained[f"on_{selections[-1]}"] |= differing
    return {"sft": {"start": "sft", "selection": "full"}, **trained}


TF_IDF = {"tf_idf": {"alpha": 4.0, "tf": "relative", "idf": "plain"}}
REWARD = {"weight": 1.0, "uncertain_as_positive": False, "both_empty": 1.0}


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (
            {"arms": arms("random"), "runs": SHARES},  # 60 x 8 films of 600 and 1,200
            r"arm on_random of run half \(480 of about 600\) and arm on_random of run whole \(480 of about "
            r"1,200\) see equally many .* Set training\.steps to 150 or more, or to null and "
            r"training\.epochs to 1",
        ),
        (
            {"arms": arms("random"), "set": {"training.steps": 75}, "runs": SHARES},
            r"run half \(about 600, once\) and .* run whole \(600 of about 1,200\)",
        ),
        (
            {"arms": arms("full", "random", credit=TF_IDF), "set": {"selection.random.share": 0.5}},
            r"arm on_random \(480 of about 600\) and arm on_full \(480 of about 1,200\)",
        ),
        (
            {"recipe": "csv-laptop.yaml", "arms": arms("random"), "runs": SHARES},
            r"run whole: .* nobody knows yet .* Set training\.steps to null and training\.epochs to 1",
        ),
        (
            {"arms": arms("balanced"), "set": {"training.steps": 12}, "runs": BALANCED},
            r"run few \(96 of about 100\) and arm on_balanced of run many \(96 of about 250\)",
        ),
    ],
)
def test_a_study_of_shares_that_varies_nothing_is_refused(study: Read, keys: Any, said: str) -> None:
    with pytest.raises(ParamsError, match=said):
        study(reference="sft", **keys)


EPOCHS = {"training.steps": None, "training.epochs": 0.5}


@pytest.mark.parametrize(
    "keys",
    [
        {"arms": arms("random"), "set": {"training.steps": 76}, "runs": SHARES},  # 600 films and 608
        {"arms": arms("full", "random")},  # 480 of 1,200 films, and 240 twice
        {"arms": arms("random"), "set": EPOCHS, "runs": SHARES},
        {"arms": arms("balanced"), "set": {"training.steps": 13}, "runs": BALANCED},  # 104 films, 100
        {"arms": arms("full", "random", start="base")},  # not the same aim
        {"arms": arms("full")},  # one amount alone
    ],
)
def test_a_study_whose_arms_see_different_amounts_or_that_varies_none_is_read(study: Read, keys: Any) -> None:
    assert study(reference="sft", **keys).runs


def test_arms_of_the_recipe_are_no_study_of_shares(study: Read) -> None:
    assert {arm.selection for arm in study().params.arms.values()} >= {"full", "ddsampling"}


def test_budgets_of_epochs_are_those_of_the_films_that_parameters_count(study: Read) -> None:
    changes = {"training.steps": None, "training.epochs": 1.0}
    found = budgets(study(set=changes, runs={"a": {"arms": ["sft", "deer", "grpo", "orapo"]}}).runs)
    assert {arm: (one.updates, one.rollouts) for (_, arm), one in found.items()} == {
        "sft": (0, 0),
        "deer": (30, 30 * 64),  # 240 films by 8
        "grpo": (150, 150 * 64),
        "orapo": (32, 32 * 64),  # 250 balanced studies
    }
    assert found["a", "deer"].length == "about 30 (1 epoch)"
    assert "30 to 150 updates" in str(unequal(found))


def test_budgets_of_epochs_of_films_that_nobody_has_counted_say_so(study: Read) -> None:
    found = budgets(study(recipe="deer-mimic_cxr.yaml", reference="sft").runs)
    assert (found["", "deer"].length, found["", "deer"].updates) == ("1 epoch", None)
    assert "films that are not counted yet" in str(unequal(found))
    alike = budgets(study(recipe="mrg_r1-iu_xray.yaml", reference="base").runs)
    assert unequal(alike) is None


def test_budgets_count_updates_and_rollouts(study: Read) -> None:
    training = {"steps": 5, "iterations": 2, "checkpoint_every": 2, "prompts_per_step": 3, "rollouts": 4}
    changes = {f"training.{key}": value for key, value in training.items()}
    found = budgets(study(set=changes, runs={"a": {"arms": ["sft", "deer", "grpo"]}}).runs)
    # ceil(5 / 2) = 3 batches of 3 x 4
    assert (found["a", "grpo"].updates, found["a", "grpo"].rollouts) == (5, 36)
    assert (found["a", "sft"].updates, found["a", "sft"].rollouts) == (0, 0)
    assert (found["a", "deer"].drawn_before, found["a", "grpo"].drawn_before) == (10, 0)


def test_budgets_say_what_may_be_redrawn(root: Path) -> None:
    values = yaml.safe_load((root / "params.yaml").read_text())
    own = {"steps": 5, "prompts_per_step": 3, "rollouts": 4}
    redraw = {"dynamic_sampling": {"mode": "redraw", "at_most": 2}}
    arms = {"plain": own, "redrawn": own | redraw, "dropped": own | {"dynamic_sampling": {"mode": "drop"}}}
    arms = {name: values["arms"]["grpo"] | {"training": training} for name, training in arms.items()}
    params = validate(values | {"arms": arms, "compare": values["compare"] | {"reference": "plain"}})
    found = budgets({"": params})
    assert {arm: one.redrawn for (_, arm), one in found.items()} == {
        "plain": 0, "redrawn": 5 * 3 * 4 * 2, "dropped": 0,
    }  # fmt: skip
    assert found["", "redrawn"].sampled == "60, up to 120 more redrawn"
    assert found["", "redrawn"].films.startswith("at least 15 of about ")
    assert found["", "plain"].films == found["", "dropped"].films == found["", "redrawn"].films[9:]
    assert "60 to 180 rollouts" in str(unequal(found))
    assert unequal({at: one for at, one in found.items() if at[1] != "redrawn"}) is None


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({}, {"sft": "-", "grpo": "480 of about 1,200", "deer": "about 240, 2 times"}),
        ({"set": EPOCHS}, {"grpo": "600 of about 1,200", "deer": "120 of about 240"}),
        # each batch of rollouts serves two updates
        ({"set": {"training.iterations": 2}}, {"grpo": "240 of about 1,200", "deer": "about 240, once"}),
        ({"set": {"training.steps": 50}}, {"orapo": "about 250, 1.6 times"}),
        ({"recipe": "deer-mimic_cxr.yaml"}, {"deer": "-"}),
    ],
)
def test_budgets_say_which_films_are_seen_and_how_often(study: Read, keys: Any, said: dict[str, str]) -> None:
    found = budgets(study(reference="sft", **keys).runs)
    assert {arm: found["", arm].films for arm in said} == said
