"""Parts of one's own: found both ways, checked, built and used."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from transformers import PreTrainedTokenizerFast

from radrl.credit.base import Rollouts
from radrl.credit.build import build as build_credit
from radrl.data.ingest import ingest
from radrl.data.sources import is_drawn, open_source
from radrl.labelers import build as build_labeler
from radrl.observations import INDEX
from radrl.params.messages import ParamsError
from radrl.params.schema import validate
from radrl.parts.find import find, names
from radrl.pipelines.own_selection import choose_films
from radrl.rewards.build import build as build_reward
from radrl.scoring.build import build as build_scorers
from radrl.training.preflight import SettingsError

pytestmark = pytest.mark.usefixtures("my_lab")

Values = dict[str, Any]
WORDS = {"Pleural Effusion": ["effusion"]}
OFFERED = {
    "reward": "brevity",
    "credit": "opening",
    "selection": "one_a_patient",
    "source": "twins",
    "metric": "length_ratio",
    "labeler": "keywords",
}
EFFUSION, CLEAR = "There is a small left pleural effusion.", "The lungs are clear."


@pytest.fixture
def values(root: Path) -> Values:
    """params.yaml with every part of the example, by its entry point and by its import path."""
    given: Values = yaml.safe_load((root / "params.yaml").read_text())
    patients = {"patients": {"pretrain": 2, "train": 6, "val": 2, "test": 4}}
    given["ingest"] |= {
        "source": "mine",
        "mine": {"part": "my_lab.sources:twins"} | patients,
        "twins": patients,
    }
    keywords = {"words": WORDS}
    given["labeler"] |= {"name": "keywords", "keywords": keywords}
    given["labeler"] |= {"again": {"part": "my_lab.labelers:keywords"} | keywords}
    given["selection"]["own"] = {
        "one_a_patient": {},
        "few": {"part": "my_lab.selections:one_a_patient", "patients": 3},
    }
    given["eval"]["families"] += ["length_ratio", "length"]
    given["eval"]["labelers"] += ["keywords", "again"]
    given["eval"]["length"] = {"part": "my_lab.metrics:length_ratio", "most": 1.0}
    given["compare"]["metrics"] += ["length_ratio", "length", "ce_again_micro14_f1"]
    given["arms"]["new"] = {
        "start": "sft",
        "selection": "few",
        "reward": {
            "brevity": {"weight": 0.5},
            "shorter": {"part": "my_lab.rewards:brevity", "weight": 0.5, "words": 5, "phase_switch": 0.5},
            "calls": {"part": "my_lab.rewards:Calls", "weight": 1.0},
        },
        "credit": {"opening": {"characters": 10}},
    }
    given["arms"]["other"] = copy.deepcopy(given["arms"]["new"]) | {
        "selection": "one_a_patient",
        "credit": {"start": {"part": "my_lab.credits:opening", "characters": 10}},
    }
    given["analyses"]["credit"]["opening"] = {"characters": 10}
    return given


def put(values: Values, key: str, value: Any) -> Values:
    """The same parameters but for one key, written with dots."""
    *parents, last = key.split(".")
    section = values
    for parent in parents:
        section = section[parent]
    section[last] = value
    return values


def test_parameters_with_parts_of_ones_own_are_valid_and_written_as_they_were_read(values: Values) -> None:
    read = validate(values)
    assert read.model_dump(exclude_unset=True) == values
    assert read.arms["new"].reward is not None
    assert read.arms["new"].reward.clinical  # Calls says so
    assert read.ingest.digest() != validate(put(values, "ingest.mine.patients.train", 7)).ingest.digest()


@pytest.mark.parametrize(("kind", "name"), OFFERED.items())
def test_part_is_found_by_entry_point_and_by_import_path(kind: str, name: str) -> None:
    offered = find(kind, name)
    by_path = find(kind, "mine", {"part": offered.path})
    assert (offered.origin, by_path.origin, by_path.name) == ("entry point", "import path", "mine")
    assert offered.object is by_path.object
    assert names(kind)[-1] == name
    assert offered.summary.endswith(".")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (
            "arms.new.reward.brevity.word",
            3,
            "arms.new.reward.brevity.word: no such key; did you mean 'words'?",
        ),
        (
            "arms.new.reward.shorter.words",
            "5",
            "arms.new.reward.shorter.words: Input should be a valid integer",
        ),
        ("arms.new.reward.shorter", {"part": "my_lab.rewards:brevity"}, "reward.shorter.weight: is missing"),
        ("arms.new.reward.calls.normal", 2.0, "reward.calls.normal: Input should be less than or equal to 1"),
        ("arms.new.credit.opening", {}, "arms.new.credit.opening.characters: is missing"),
        ("selection.own.few.patients", "3", "selection.own.few.patients: Input should be a valid integer"),
        (
            "ingest.mine.patients.train",
            0,
            "ingest.mine.patients.train: Input should be greater than or equal",
        ),
        ("ingest.twins", None, None),
        (
            "eval.length.least",
            0,
            "eval.length.least: no such key. Valid keys: most, part",
        ),
        ("labeler.again.words", ["a"], "labeler.again.words: Input should be a valid dictionary"),
        ("labeler.keywords", None, "labeler.name is keywords, but there is no section labeler.keywords"),
        ("ingest.source", "mime", "or 'mine' (it is 'mime')"),
        ("eval.families", ["lengt"], "'length_ratio' or 'length' (it is 'lengt')"),
        (
            "eval.labelers",
            ["agian"],
            "eval.labelers: 'agian' is no labeler; did you mean 'again'? Labelers: rules",
        ),
        ("arms.new.selection", "fwe", "arms.new.selection: 'fwe' is no selection; did you mean 'few'?"),
        ("compare.metrics", ["lenght"], "compare.metrics: 'lenght' is none of what eval.families"),
    ],
)
def test_wrong_setting_of_a_part_is_named(values: Values, key: str, value: Any, message: str | None) -> None:
    if message is None:
        validate(put(values, key, value))
        return
    with pytest.raises(ParamsError) as refused:
        validate(put(values, key, value))
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({}, "new.reward.short: no such key. Valid keys: ce_f1, bleu2,"),
        ({}, "brevity; one of your own says where it is, part: my_lab.rewards:reward"),
        (
            {"part": 3},
            "new.reward.short.part: must be an import path such as my_lab.rewards:reward (it is 3)",
        ),
        (
            {"part": "my_lab.rewards"},
            "new.reward.short.part: 'my_lab.rewards' is no import path; write module:object, such as my_lab",
        ),
        (
            {"part": "my_lab.rewadrs:brevity"},
            "new.reward.short.part: my_lab.rewadrs:brevity cannot be imported: ModuleNotFoundError: No "
            "module named 'my_lab.rewadrs'; install its package in this environment, or mend the path",
        ),
        (
            {"part": "my_lab.rewards:brevty"},
            "new.reward.short.part: my_lab.rewards has no 'brevty'; did you mean 'brevity'?",
        ),
        ({"part": "my_lab.sources:FINDINGS"}, "new.reward.short.part: my_lab.sources:FINDINGS is ('There is"),
        (
            {"part": "my_lab.selections:one_a_patient"},
            "new.reward.short.part: my_lab.selections:one_a_patient asks for 'films', which a reward is not "
            "given; before the * it may ask for reports, references, sample_ids, labeler, missing, name.",
        ),
        ({"part": "my_lab.rewards:CallsSection"}, "new.reward.short.part: my_lab.rewards:CallsSection"),
    ],
)
def test_import_path_that_leads_to_no_reward_is_refused_with_the_mend(
    values: Values, section: Values, message: str
) -> None:
    values["arms"]["new"]["reward"]["short"] = section | {"weight": 1.0}
    with pytest.raises(ParamsError) as refused:
        validate(values)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (
            "arms.new.reward.bleu2",
            "arms.new.reward.bleu2: bleu2 is a built-in reward's name; let this one go by",
        ),
        ("selection.own.full", "selection.own.full: full is a built-in selection's name; let this one go by"),
        (
            "selection.mine",
            "selection.mine: no such key. Valid keys: own, ddsampling, most_diverse, random, balanced",
        ),
        ("arms.new.reward.two words", "'two words' names figures and files: letters, digits and underscores"),
    ],
)
def test_name_that_is_taken_or_none_is_refused(values: Values, key: str, said: str) -> None:
    with pytest.raises(ParamsError) as refused:
        validate(put(values, key, {"part": "my_lab.rewards:brevity", "weight": 1.0}))
    assert said in str(refused.value)


def test_rewards_score_under_their_own_names(values: Values) -> None:
    labeler = build_labeler(values["labeler"])
    reward = build_reward(values["arms"]["new"]["reward"], labeler)
    reports, references = [EFFUSION, f"{CLEAR} " * 3], [EFFUSION, EFFUSION]
    found = {part.name: reward.score_part(part, reports, references, ["a", "b"]) for part in reward.parts}
    assert found == {
        "brevity": [1.0, 1.0],
        "shorter": [1.0, pytest.approx(7 / 12)],
        "calls": [1.0, 0.0],
    }
    assert [part.reward.clinical for part in reward.parts] == [False, False, True]


def test_credit_weighs_the_tokens_of_the_text(values: Values) -> None:
    from radrl.policy import tiny

    tokenizer: PreTrainedTokenizerFast = tiny.train_tokenizer(["a"], 270)
    credit = build_credit(values["arms"]["other"]["credit"], tokenizer, build_labeler)
    ids = [*tokenizer(CLEAR).input_ids, tokenizer.eos_token_id]
    weights = credit.weigh(Rollouts([ids], [CLEAR], [CLEAR], ["film"], 1))
    assert weights is not None
    assert weights.values[0].tolist() == [2.0] * 10 + [1.0] * (len(ids) - 10)


def test_selection_gives_its_subset_the_same_each_time(make_corpus: Any, values: Values) -> None:
    corpus = make_corpus(("train",), studies=6)
    ids = [f"train{i}_1" for i in range(6)]
    labels = pd.DataFrame({"sample_id": ids} | dict.fromkeys(INDEX, 0))
    own = values["selection"]["own"]
    few = choose_films(corpus, labels, own["few"], 0, name="few")
    assert (
        few["sample_id"].tolist()
        == choose_films(corpus, labels, own["few"], 0, name="few")["sample_id"].tolist()
    )
    assert len(few) == 3
    assert set(choose_films(corpus, labels, None, 0, name="one_a_patient")["sample_id"]) == set(ids)
    with pytest.raises(SettingsError, match=r"selection\.own\.none gives no film; let it give sample_ids"):
        choose_films(corpus, labels, {"part": "builtins:list"}, 0, name="none")


def test_source_fills_a_corpus(values: Values) -> None:
    settings = values["ingest"] | {"image_size": 32}
    source = open_source(settings, seed=0)
    assert is_drawn(settings)
    passing = ingest(
        source,
        seed=0,
        split_shares=settings["split_shares"],
        max_quarantined_share=1.0,
        image_root=source.root,
        **{
            key: settings[key]
            for key in ("target", "cleaning", "labels_of", "min_report_words", "max_report_words")
        },
        **{key: settings[key] for key in ("views", "image_size", "image_fit")},
    )
    rows = list(passing)
    assert len(rows) == passing.read == 14


def test_metric_is_the_mean_under_the_name_it_goes_by(values: Values) -> None:
    scorers = build_scorers(["length_ratio", "length"], values["eval"], [])
    ratio, length = (one.score([CLEAR, CLEAR], [CLEAR, f"{CLEAR} {CLEAR}"]) for one in scorers)
    assert (ratio.corpus, length.corpus) == ({"length_ratio": 1.5}, {"length": 1.0})
    assert ratio.per_report["length_ratio"].tolist() == [1.0, 2.0]


def test_labeler_reads_and_is_held_to_the_contract(values: Values, monkeypatch: pytest.MonkeyPatch) -> None:
    again = build_labeler(values["labeler"], name="again")
    assert again.name == "again"
    assert np.argwhere(again.label([EFFUSION, CLEAR, ""])).tolist() == [
        [0, INDEX["Pleural Effusion"]],
        [1, INDEX["No Finding"]],
    ]
    import my_lab.labelers

    monkeypatch.setattr(my_lab.labelers, "keywords", lambda reports, *, words: [1] * len(reports))
    with pytest.raises(ValueError, match=r"the labeler again gave int64 of shape \(1,\) for 1 reports; give"):
        build_labeler(values["labeler"], name="again").label([CLEAR])
