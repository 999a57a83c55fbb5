"""Rewards as params.yaml names them."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import pytest

from radrl.labelers import build as build_labeler
from radrl.parts.find import PartError, names
from radrl.rewards.base import InTheSum, Part
from radrl.rewards.build import Adapted, build, of_function
from radrl.rewards.format import Format

CE_F1 = {"weight": 0.5, "uncertain_as_positive": False, "both_empty": 1.0}
EVERY: dict[str, dict[str, Any]] = {
    "ce_f1": CE_F1,
    "bleu2": {"weight": 0.25, "preparation": "whitespace", "phase_switch": 0.5},
    "nlg": {"weight": 1.0, "preparation": "whitespace", "bleu": 4},
    "accuracy": {"weight": 1.0, "agreement": "all", "uncertain_as_positive": False},
    "mccs": {"weight": 0.75, "margin": 0.0, "eps": 1e-8},
    "format": {"weight": 0.25},
    "facts": {
        "weight": 1.0,
        "extractor": "rules",
        "entailment": "rules",
        "uncertain_as_positive": False,
        "beta": 1.5,
        "xi": 1e-8,
        "both_empty": 1.0,
        "judge": None,
        "missing": "skip",
    },
    "weighted_findings": {"weight": 1.0, "beta": 2.0, "weights": {"granuloma": 0.0}},
    "radgraph_rules": {"weight": 1.0, "level": "complete", "beta": 2.0},
    "green_rules": {"weight": 1.0},
    "length": {"weight": 0.25, "unit": "words", "least": 4, "most": 5},
    "repetition": {"weight": 0.1, "n": 1},
}
WITH_WEIGHTS = ("radgraph", "radeval", "green", "sentence_sets")
TRAINING = ["Pulmonary edema is present.", "Clear lungs.", "No pleural effusion. Pulmonary edema."]


@pytest.fixture(scope="module")
def rules() -> Any:
    return build_labeler({"name": "rules", "rules": {"alternatives": "uncertain", "other_findings": True}})


def test_reward_of_an_arm_is_built_with_the_real_labeler(rules: Any) -> None:
    reward = build({"ce_f1": CE_F1}, rules)
    (part,) = reward.parts
    assert (part.name, part.weight, part.has_phases) == ("ce_f1", 0.5, False)
    reports = ["There is pulmonary edema.", "The lungs are clear.", "Left pleural effusion."]
    assert reward.score_part(part, reports, TRAINING, ["a", "b", "c"]) == [1.0, 1.0, 0.0]


def test_every_part_scores_the_report_alone_but_format(rules: Any) -> None:
    assert [*EVERY] == [name for name in names("reward") if name not in WITH_WEIGHTS]
    reward = build(EVERY, rules, references=TRAINING, output="think_report")
    plain = build(EVERY, rules, references=TRAINING)
    outputs = [f"<think>Fracture, pneumonia.</think><report>{text}</report>" for text in TRAINING]
    ids = ["a", "b", "c"]
    for part, same in zip(reward.parts, plain.parts, strict=True):
        found = reward.score_part(part, outputs, TRAINING, ids)
        if part.name == "format":
            assert found == [1.0, 1.0, 1.0]
        else:
            assert found == plain.score_part(same, TRAINING, TRAINING, ids)
            whole = plain.score_part(same, outputs, TRAINING, ids)
            assert found != whole or part.name == "repetition"  # nothing is said twice with the tags either
    assert [part.name for part in reward.parts if not part.reward.clinical] == [
        "bleu2",
        "nlg",
        "format",
        "length",
        "repetition",
    ]


def test_settings_of_the_sum_reach_the_part_and_facts(rules: Any) -> None:
    reward = build({"facts": EVERY["facts"] | {"phase_switch": 0.5, "first_weight": 0.1}}, rules)
    (part,) = reward.parts
    assert (part.missing, part.reward.facts.missing) == ("skip", "skip")  # type: ignore[attr-defined]
    assert [reward.weights(share) for share in (0.0, 0.5)] == [[0.1], [1.0]]


def test_defaults_are_those_of_the_schema() -> None:
    told = {name: parameter.default for name, parameter in inspect.signature(Part).parameters.items()}
    for key in ("phase_switch", "first_weight", "missing"):
        assert InTheSum.model_fields[key].default == told[key]


def test_credits_are_the_tables_where_none_are_given() -> None:
    output = "<report>b</report>"  # no reasoning: 0.25
    assert Format()([output], [""], [""]) == [0.25]
    assert Format(credits=None)([output], [""], [""]) == [0.25]


def test_part_set_to_nothing_is_left_out(rules: Any) -> None:
    assert build({"ce_f1": None}, rules).parts == []


def test_unknown_part_is_refused_with_the_valid_ones(rules: Any) -> None:
    with pytest.raises(PartError, match=r"no reward 'bleu9'; did you mean 'bleu2'\? There are ce_f1, bleu2"):
        build({"bleu9": {"weight": 1.0}}, rules)


ASKED = (["a", "bb"], ["c", "d"], ["x", "y"])  # reports, references, sample_ids


def reward(function: Any, **settings: Any) -> Adapted:
    part: Any = SimpleNamespace(object=function, name="own", settings=lambda given: dict(given))
    return of_function(part, settings, "labeler")  # type: ignore[arg-type]


def test_function_is_handed_what_it_names_and_its_settings() -> None:
    def whole(reports: Any, references: Any, sample_ids: Any, labeler: Any, *, times: float) -> list[float]:
        assert (reports, references, sample_ids, labeler) == (*ASKED, "labeler")
        return [times * len(report) for report in reports]

    assert reward(whole, times=1.5)(*ASKED) == [1.5, 3.0]
    assert reward(lambda references: [len(references), 0])(*ASKED) == [2, 0]


def test_what_a_reward_does_not_say_of_itself_is_that_of_wording() -> None:
    plain = reward(lambda reports: [0.0, 0.0])
    assert (plain.name, plain.clinical, plain.reads, plain.told) == ("own", False, "report", {})
    plain(*ASKED)
    assert plain.told == {}


@pytest.mark.parametrize("clinical", [True, False])
def test_what_it_says_of_itself_counts(clinical: bool) -> None:
    told = {"words": 2.0}
    of = SimpleNamespace(clinical=clinical, reads="output", told=told)
    found = Adapted(lambda *_: [1.0, 2.0], "own", of)
    assert (found.clinical, found.reads, found.told) == (clinical, "output", {})  # of the last call
    assert found(*ASKED) == [1.0, 2.0]
    assert found.told is told
