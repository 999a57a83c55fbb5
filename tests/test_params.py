"""The schema of params.yaml and what it says of a wrong file."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from omegaconf import OmegaConf

from radrl.params.messages import ParamsError, local_paths
from radrl.params.rows import row_digests
from radrl.params.schema import read, validate
from radrl.params.training import Training
from radrl.reports.output import FAULTS

Values = dict[str, Any]


@pytest.fixture
def values(root: Path) -> Values:
    loaded: Values = yaml.safe_load((root / "params.yaml").read_text())
    return loaded


def put(values: Values, key: str, value: Any) -> Values:
    """The same parameters but for one key, written with dots."""
    changed = copy.deepcopy(values)
    *parents, last = key.split(".")
    section = changed
    for parent in parents:
        section = section[parent]
    section[last] = value
    return changed


def refusal(values: Values) -> str:
    with pytest.raises(ParamsError) as caught:
        validate(values)
    return str(caught.value)


def test_params_file_is_valid(root: Path, values: Values) -> None:
    assert read(root / "params.yaml").model_dump(exclude_unset=True) == values


UNKNOWN = [
    ("sed", "sed: no such key; did you mean 'seed'? Valid keys: seed, threads"),
    (
        "ingest.phantom.nois",
        "ingest.phantom.nois: no such key; did you mean 'noise'? Valid keys: studies, prevalence",
    ),
    ("policy.tiny.layer", "policy.tiny.layer: no such key; did you mean 'layers'?"),
    (
        "sft.lora.ranks",
        "sft.lora.ranks: no such key; did you mean 'rank'? Valid keys: rank, alpha, dropout, targets",
    ),
    (
        "arms.grpo.credits",
        "arms.grpo.credits: no such key; did you mean 'credit'? Valid keys: start, selection, reward",
    ),
    ("arms.grpo.reward.ce_f2", "arms.grpo.reward.ce_f2: no such key; did you mean 'ce_f1'?"),
    ("arms.grpo.reward.ce_f1.colour", "colour: no such key. Valid keys: weight, phase_switch"),
    ("compare.bootstrap.sample", "compare.bootstrap.sample: no such key"),
]


@pytest.mark.parametrize(("key", "message"), UNKNOWN)
def test_unknown_key_is_named_with_the_valid_ones(values: Values, key: str, message: str) -> None:
    said = refusal(put(values, key, 1))
    assert said.startswith("params.yaml is not valid:\n")
    assert message in said


WRONG = [
    ("seed", "0", "seed: Input should be a valid integer (it is '0')"),
    ("seed", -1, "seed: Input should be greater than or equal to 0 (it is -1)"),
    ("threads", 1.5, "threads: Input should be a valid integer"),
    (
        "ingest.source",
        "mimic",
        "ingest.source: Input should be 'phantom', 'csv', 'iu_xray', 'mimic_cxr', 'chexpert_plus', "
        "'rexgradient' or 'padchest_gr' (it is 'mimic')",
    ),
    ("ingest.phantom.studies", {"dev": 3}, "'pretrain', 'train', 'val', 'test' or 'away'"),
    ("ingest.phantom.severity", [1.2], "ingest.phantom.severity: List should have at least 2 items"),
    ("ingest.phantom.severity", [0.0, 1.8], "severity.0: Input should be greater than 0 (it is 0.0)"),
    ("ingest.phantom.words", [0, 32], "words.0: Input should be greater than or equal to 1 (it is 0)"),
    (
        "ingest.phantom.words",
        [32, 32],
        "ingest.phantom.words: words must be [low, high] with 1 <= low < high, got [32, 32]",
    ),
    (
        "ingest.phantom.prevalence",
        {"Cardiomegali": 0.2},
        "ingest.phantom.prevalence: 'Cardiomegali' is no observation that is drawn; did you mean "
        "'Cardiomegaly'? Observations: Enlarged Cardiomediastinum, Cardiomegaly,",
    ),
    ("ingest.phantom.prevalence", {"No Finding": 0.2}, "'No Finding' is no observation that is drawn."),
    (
        "ingest.phantom.prevalence",
        {"Edema": 1.0},
        "ingest.phantom.prevalence: prevalence of Edema must lie between 0 and 1, got 1.0",
    ),
    ("ingest.phantom.prevalence", {"Edema": "0.2"}, "prevalence: Edema: must be a number (it is '0.2')"),
    ("ingest.phantom.prevalence", 9.0, "prevalence of Cardiomegaly must lie between 0 and 1, got 1.8"),
    ("ingest.phantom.prevalence", 0.0, "prevalence of Enlarged Cardiomediastinum must lie between 0 and 1"),
    (
        "ingest.phantom.prevalence",
        True,
        "ingest.phantom.prevalence: must be a number, which scales every share, or shares of single "
        "observations (it is True)",
    ),
    ("ingest.max_quarantined_share", 1.2, "less than or equal to 1 (it is 1.2)"),
    ("sft.tunes", "all", "sft.tunes: Input should be 'vision', 'full' or 'lora' (it is 'all')"),
    ("sft.learning_rate", "1e-3", "sft.learning_rate: Input should be a valid number"),
    ("rollouts.samples", 1, "rollouts.samples: Input should be greater than or equal to 2"),
    ("rollouts.temperature", 0.0, "rollouts.temperature: Input should be greater than 0 (it is 0.0)"),
    ("generate.top_p", 1.1, "generate.top_p: Input should be less than or equal to 1 (it is 1.1)"),
    ("training.temperature", float("inf"), "training.temperature: Input should be a finite number"),
    ("training.rollouts", 1, "training.rollouts: Input should be greater than or equal to 2"),
    ("training.prompts_per_step", 0, "training.prompts_per_step: Input should be greater than or equal to 1"),
    ("training.watch.films", 0, "training.watch.films: Input should be greater than or equal to 1"),
    ("training.adam_betas", [0.9], "training.adam_betas: List should have at least 2 items"),
    ("training.lora.targets", [], "training.lora.targets: List should have at least 1 item"),
    (
        "selection.balanced.studies",
        1201,
        "selection.balanced.studies is 1201, but ingest.phantom.studies.train is 1200; lower the one",
    ),
    ("training.engine", "tgi", "training.engine: Input should be 'hf', 'hf_bfloat16' or 'vllm'"),
    ("training.importance.mode", "tis", "training.importance.mode: Input should be 'token_truncate'"),
    ("training.importance.cap", 0.5, "training.importance.cap: Input should be greater than or equal to 1"),
    ("training.mask_truncated", "no", "training.mask_truncated: Input should be a valid boolean"),
    (
        "training.loss",
        "ppo",
        "training.loss: Input should be 'grpo', 'bnpo', 'dr_grpo', 'dapo', 'luspo', 'cispo', 'sapo' or",
    ),
    ("arms.grpo.start", "grpo", "arms.grpo.start: Input should be 'base' or 'sft'"),
    ("arms.grpo.reward.ce_f1.both_empty", 2.0, "arms.grpo.reward.ce_f1.both_empty"),
    ("arms.grpo.reward", {}, "arms.grpo.reward: an arm that trains needs at least one reward"),
    ("arms", {}, "arms: Dictionary should have at least 1 item"),
    ("training.rollouts_at_once", 0, "training.rollouts_at_once: Input should be greater than or equal to 1"),
    ("device", "gpu", "device: 'gpu' is no device; give one of cpu, cuda, cuda:0"),
    ("device", "cuda:", "device: 'cuda:' is no device"),
    ("training.iterations", 997, "is no multiple of iterations 997"),
    ("labeler.name", "chexbert", "labeler.name is chexbert but labeler.chexbert is null"),
    ("labeler.compact", None, "eval.labelers is chexbert_compact but labeler.compact is null"),
    ("labeler.compact.heads", 7, "labeler.compact: heads 7 does not divide hidden 128"),
    ("labeler.rules.alternatives", "negative", "Input should be 'uncertain' or 'positive'"),
    ("eval.families", ["ce", "green"], "families lists green, but its section eval.green is not set"),
    (
        "eval.families",
        ["bleu"],
        "eval.families.0: Input should be 'ce', 'nlg', 'radgraph_rules', 'green_rules'",
    ),
    ("eval.labelers", [], "eval.labelers: List should have at least 1 item"),
    ("eval.radgraph", {"python": None, "batch_size": 1}, "eval.radgraph.model: is missing"),
    (
        "compare.systems",
        {"MAIRA": "/data/maira.json"},
        "put what `radrl score --json` wrote into conf/base/systems",
    ),
    ("compare.systems", {"MAIRA": "../maira.json"}, "'../maira.json' is no name of a JSON file"),
    (
        "compare.systems",
        {"MAIRA": "outputs.csv"},
        "compare.systems: MAIRA: 'outputs.csv' is no name of a JSON file",
    ),
    ("compare.systems", {"a.b": "maira.json"}, "'a.b': a row's name is letters, digits"),
    ("compare.systems", {"grpo": "maira.json"}, "compare.systems.grpo: an arm is called so"),
    ("compare.reference", "nobody", "compare.reference 'nobody' is no arm. Arms: base, sft"),
    ("compare.reference", "stf", "compare.reference 'stf' is no arm; did you mean 'sft'? Arms: base"),
    (
        "arms.two-phase",
        {"start": "sft", "selection": "full"},
        "arms.two-phase: an arm's name is letters, digits",
    ),
    (
        "ceilings.network.splits",
        ["train", "test"],
        "ceilings.network.splits holds test, whose films are scored (generate.split)",
    ),
    ("ceilings.probe.splits", [], "ceilings.probe.splits: List should have at least 1 item"),
    ("ceilings.start", "grpo", "ceilings.start: Input should be 'base' or 'sft'"),
    ("ingest.image_fit", "longest_side", "ceilings.network needs films of one size"),
    ("arms.base.training", {"steps": 2}, "arms.base.training is set but the arm has no reward"),
    (
        "arms.grpo.training",
        {"step": 2},
        "training.step is no key of `training`; did you mean 'steps'? Valid keys: steps",
    ),
    (
        "arms.grpo.training",
        {"steps": "2"},
        "arms.grpo.training.steps: Input should be a valid integer (it is '2')",
    ),
    ("arms.grpo.training", {"iterations": 997}, "arms.grpo.training: checkpoint_every"),
    (
        "training.epochs",
        1.0,
        "training: steps is 150 and epochs is 1.0; give one of them (updates, or passes",
    ),
    ("training.steps", None, "training: steps is None and epochs is None; give one of them"),
    ("arms.grpo.training", {"steps": 5, "epochs": 1.0}, "arms.grpo.training: steps is 5 and epochs is 1.0"),
    ("arms.grpo.training", {"epochs": 0.0}, "arms.grpo.training.epochs: Input should be greater than 0"),
]


def test_how_trainings_are_run_may_be_left_out_and_is_checked(values: Values) -> None:
    for nothing in (values | {"compute": None}, {k: v for k, v in values.items() if k != "compute"}):
        assert validate(nothing).compute.processes == 1
    values["compute"] = {"processes": 0, "procesess": 2}
    with pytest.raises(ParamsError, match=r"(?s)compute.processes: .*compute.procesess: no such key"):
        validate(values)


def test_an_arms_epochs_stand_in_for_the_sections_steps(values: Values) -> None:
    assert validate(put(values, "arms.grpo.training", {"epochs": 0.5})).training.steps == 150


@pytest.mark.parametrize(
    ("severity", "largest"), [([1.2, 1.8], 0.3192), ([5.0, 2.0], 0.0476), ([1.0, 1.0], 0.25)]
)
def test_more_hedges_than_the_severity_bears_are_refused(
    values: Values, severity: Any, largest: float
) -> None:
    values = put(values, "ingest.phantom.severity", severity)
    validate(put(values, "ingest.phantom.hedge_share", largest))
    said = refusal(put(values, "ingest.phantom.hedge_share", largest + 0.001))
    assert f"ingest.phantom: hedge_share must lie in [0, {largest}] with severity {severity}, got" in said


def test_a_pool_of_more_than_all_studies_is_refused(values: Values) -> None:
    values = put(values, "ingest.phantom.near_copies", 0.7)
    validate(put(values, "ingest.phantom.normal_share", 0.3))
    said = refusal(put(values, "ingest.phantom.normal_share", 0.4))
    assert "near_copies and normal_share are shares of the same training studies, together at most 1" in said


@pytest.mark.parametrize("prevalence", [1, 0.5, {}, {"Pleural Other": 0.5}])
def test_prevalence_is_a_scale_or_shares_of_single_observations(values: Values, prevalence: Any) -> None:
    validate(put(values, "ingest.phantom.prevalence", prevalence))


@pytest.mark.parametrize(("lateral_share", "of_a_study"), [(0.0, 1), (0.1, 2)])
def test_a_step_of_more_films_than_its_subset_has_is_refused(
    values: Values, lateral_share: float, of_a_study: int
) -> None:
    values = put(values, "ingest.phantom.lateral_share", lateral_share)
    said = refusal(put(values, "training.prompts_per_step", 501))
    assert "training.prompts_per_step is 501, but the subset ddsampling of arm deer has at most " in said
    assert f"at most {240 * of_a_study} films;" in said
    most = 1200 * of_a_study
    said = refusal(put(values, "arms.grpo.training", {"prompts_per_step": most + 1}))
    assert (
        f"arms.grpo.training.prompts_per_step is {most + 1}, but the subset full of arm grpo has at" in said
    )
    assert f"at most {most} films;" in said


JUDGE = {
    "backend": "folder",
    "folder": "/models/green",
    "chat": "green",
    "batch_size": 8,
    "max_new_tokens": 9,
}


MODELS = {
    "radgraph": {"python": ".venv-radgraph/bin/python", "model": "/models/radgraph-xl", "batch_size": 1},
    "green": {"missing": "raise", "judge": JUDGE},
    "radeval": {"python": None, "models": None, "metrics": ["bleu"]},
}


def test_families_with_models_are_valid_where_their_sections_are(values: Values) -> None:
    scored = put(values, "eval", values["eval"] | MODELS | {"families": ["ce", *MODELS]})
    scored = put(scored, "eval.headline", ["ce_rules_sample14_f1", "green"])
    found = validate(put(scored, "compare.metrics", ["ce_rules_sample14_f1", "green"]))
    assert found.eval.green is not None
    assert found.eval.green.judge.backend == "folder"


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        ({"backend": "cloud"}, "does not match any of the expected tags: 'endpoint', 'folder'"),
        (JUDGE | {"chats": "own"}, "chats: no such key"),
        ({**JUDGE, "backend": "endpoint"}, "url: is missing"),
    ],
)
def test_wrong_judge_is_named(values: Values, judge: Values, message: str) -> None:
    said = refusal(put(values, "eval", values["eval"] | {"green": {"missing": "raise", "judge": judge}}))
    assert "eval.green.judge" in said
    assert message in said


@pytest.mark.parametrize(("key", "value", "message"), WRONG)
def test_wrong_value_is_named_with_what_would_be_right(
    values: Values, key: str, value: Any, message: str
) -> None:
    said = refusal(put(values, key, value))
    assert message in said
    assert "Value error" not in said


def test_missing_key_is_named(values: Values) -> None:
    del values["training"]["kl"]
    del values["prompts"]
    said = refusal(values)
    assert "training.kl: is missing" in said
    assert "prompts: is missing" in said


LOOKS = {"every": 5, "films": 50, "metric": "sample14_f1", "patience": None, "keep": "last"}


SHOWN = LOOKS | {"rollouts": {"every": 15, "groups": 2}}


@pytest.mark.parametrize(
    "watch", [None, LOOKS | {"every": 0}, LOOKS | {"patience": 20, "keep": "best"}, SHOWN | {"every": 0}]
)
def test_watch_can_be_set_and_switched_off_for_all_arms_and_for_one(values: Values, watch: Any) -> None:
    assert validate(put(values, "training.watch", watch))
    values["arms"]["grpo"]["training"] = {"watch": watch}
    assert validate(values)


@pytest.mark.parametrize(
    ("watch", "message"),
    [
        (LOOKS | {"every": -1}, "training.watch.every: Input should be greater than or equal to 0"),
        (LOOKS | {"films": 0}, "training.watch.films: Input should be greater than or equal to 1"),
        ({"every": 5}, "training.watch.films: is missing"),
        (LOOKS | {"film": 9}, "training.watch.film: no such key; did you mean 'films'?"),
        (LOOKS | {"metric": "f1"}, "training.watch.metric: Input should be 'sample14_f1', 'macro14_f1'"),
        (LOOKS | {"rollouts": {"every": 0, "groups": 1}}, "training.watch.rollouts.every: Input should be"),
        (LOOKS | {"rollouts": {"every": 5, "groups": 0}}, "training.watch.rollouts.groups: Input should be"),
        (LOOKS | {"rollouts": {"every": 5}}, "training.watch.rollouts.groups: is missing"),
        (
            LOOKS | {"every": 0, "keep": "best"},
            "training.watch: patience is None and keep is best",
        ),
        (
            LOOKS | {"every": 0, "patience": 9},
            "training.watch: patience is 9 and keep is last",
        ),
    ],
)
def test_wrong_watch_is_named(values: Values, watch: Any, message: str) -> None:
    assert message in refusal(put(values, "training.watch", watch))
    values["training"]["watch"] = None
    values["arms"]["grpo"]["training"] = {"watch": watch}
    assert f"arms.grpo.{message}" in refusal(values)


@pytest.mark.parametrize("deciding", [{}, {"patience": 20}])
def test_rollouts_that_are_shown_part_no_study_from_its_results(
    values: Values, deciding: dict[str, Any]
) -> None:
    metric = "ce_rules_sample14_f1"
    before, after = (
        row_digests(put(values, "training.watch", watch | deciding))("grpo", metric)
        for watch in (LOOKS, SHOWN)
    )
    assert before == after


def test_checkpoint_of_a_look_holds_no_rollouts_in_use(values: Values) -> None:
    values["training"] |= {"iterations": 2, "checkpoint_every": 4, "watch": LOOKS | {"keep": "best"}}
    assert "watch.every 5 is no multiple of iterations 2, but watch.keep is best" in refusal(values)
    values["training"]["watch"] = LOOKS
    assert validate(values)


def test_every_problem_is_listed_at_once(values: Values) -> None:
    said = refusal(put(put(values, "seed", "0"), "sft.epochs", 0))
    assert len(said.splitlines()) == 3


def test_arm_overrides_any_training_key_of_the_right_type(values: Values) -> None:
    for key, field in Training.model_fields.items():
        override = {key: values["training"].get(key, field.default)}
        assert validate(put(values, "arms.grpo.training", override)).arms["grpo"].training == override


@pytest.mark.parametrize(
    ("content", "message"),
    [("a: [", "no valid YAML"), ("- seed", "holds no mapping"), ("", "holds no mapping")],
)
def test_file_that_is_no_mapping_is_refused_by_name(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(content)
    with pytest.raises(ParamsError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)


@pytest.fixture
def load_environment(root: Path) -> Callable[[str], Values]:
    """Parameters as Kedro sees them in an environment of conf/."""
    from radrl import settings

    def load(env: str) -> Values:
        loader = settings.CONFIG_LOADER_CLASS(str(root / "conf"), env=env, **settings.CONFIG_LOADER_ARGS)
        return dict(loader["parameters"])

    return load


def test_kedro_sees_params_file_as_it_is(load_environment: Callable[[str], Values], values: Values) -> None:
    assert load_environment("base") == values


def test_smoke_environment_changes_keys_of_params_and_stays_valid(
    root: Path, load_environment: Callable[[str], Values], values: Values
) -> None:
    smoke = load_environment("smoke")
    validate(smoke, source="conf/smoke/parameters.yml")
    assert smoke != values
    # arms with a length of their own are as brief as `training` here
    brief = {name: smoke["arms"][name].pop("training") for name in ("orapo", "mrg_r1")}
    for name, training in brief.items():
        own = values["arms"][name].pop("training")
        assert training == own | {"steps": smoke["training"]["steps"], "epochs": None}
    assert smoke["arms"] == values["arms"]
    assert smoke["policy"]["tiny"] == values["policy"]["tiny"] | {
        "vocab_size": smoke["policy"]["tiny"]["vocab_size"]
    }


@pytest.mark.parametrize(
    "recipe", ["csv-laptop", "openi-laptop", "phantom-hard", "phantom-credit", "phantom-quick"]
)
def test_smoke_environment_goes_with_the_laptop_recipes_of_any_source(root: Path, recipe: str) -> None:
    own = [root / f"conf/recipes/{recipe}.yaml", root / "conf/smoke/parameters.yml"]
    merged = OmegaConf.merge(*map(OmegaConf.load, own))
    assert validate(OmegaConf.to_container(merged)).selection.parts()["balanced"].studies == 4


def test_a_source_that_is_not_chosen_need_not_be_whole_but_right(values: Values) -> None:
    values["ingest"] |= {"phantom": values["ingest"]["phantom"], "csv": {"path": "/home/me/reports.csv"}}
    read = validate(values)
    assert {"ingest.csv.path", "ingest.csv.image_root"} <= local_paths(read)
    without = {**values, "ingest": values["ingest"] | {"csv": None}}
    assert read.ingest.digest() == validate(without).ingest.digest()
    assert "ingest.csv.paths: no such key; did you mean 'path'?" in refusal(
        put(values, "ingest.csv.paths", "x")
    )
    assert "ingest.csv.path: Input should be a valid string" in refusal(put(values, "ingest.csv.path", 1))
    values["ingest"]["source"] = "csv"
    assert "ingest.csv.image_root: is missing" in refusal(values)


def test_another_hospital_is_a_source_with_keys_of_its_section_replaced(values: Values) -> None:
    home = validate(values).ingest.digest()
    away = {"source": "phantom", "set": {"noise": 0.05, "studies": {"test": 40}, "wording": "telegraphic"}}
    read = validate(put(values, "ingest.away", away)).ingest
    there = read.at_away()
    assert (there.away, there.source, there.parts()["phantom"].noise) == (None, "phantom", 0.05)
    assert read.parts()["phantom"].noise == 0.02
    assert read.digest() != home
    assert validate(put(values, "ingest.away", None)).ingest.digest() == home


@pytest.mark.parametrize(
    ("away", "message"),
    [
        ({"source": "phantom", "set": {"nois": 0.1}}, "laid over ingest.phantom:\n  nois: no such key"),
        ({"source": "phantom", "set": {"hedge_share": 0.9}}, "hedge_share must lie in"),
        ({"source": "phantm"}, "no source 'phantm'; did you mean 'phantom'"),
        ({"source": "iu_xray"}, "ingest.away.source is iu_xray, but there is no section ingest.iu_xray"),
        ({"source": "phantom", "split": "tset"}, "ingest.away.split: Input should be"),
        ({"source": "phantom", "split": None}, "ingest.away takes all splits of phantom"),
        ({"source": "phantom", "split": "train"}, "patients that are learnt from would be tested on"),
        (
            {"source": "csv", "set": {"path": "/home/me/r.csv"}},
            "ingest.away.set.path is a path of this machine",
        ),
    ],
)
def test_a_wrong_hospital_is_named_with_the_mend(values: Values, away: Values, message: str) -> None:
    assert message in refusal(put(values, "ingest.away", away))


def test_balanced_may_be_null_where_no_arm_names_it(values: Values) -> None:
    values["selection"]["balanced"] = None
    values["arms"] = {name: own for name, own in values["arms"].items() if own["selection"] != "balanced"}
    assert "balanced" not in validate(values).selection.names()
    assert (
        "arms.grpo.selection is balanced, but selection.balanced is null, so there is no such subset; give "
        "selection.balanced its settings, or the arm one of full, random, ddsampling, most_diverse"
    ) in refusal(put(values, "arms.grpo.selection", "balanced"))


def test_every_path_is_kept_from_the_record_of_runs(root: Path, values: Values) -> None:
    for file in (root / "conf" / "recipes").glob("*.yaml"):
        if not file.name.startswith("study-"):  # together they have every source's section
            given = yaml.safe_load(file.read_text())["ingest"]
            values["ingest"][given["source"]] = given[given["source"]]
    values["eval"] |= MODELS
    values = rewarded(values, {"facts": ASKED | {"judge": JUDGE}})
    assert local_paths(validate(values)) == {
        *(f"ingest.csv.{key}" for key in ("path", "image_root")),
        "ingest.iu_xray.root",
        *(f"ingest.mimic_cxr.{key}" for key in ("root", "tables", "reports", "annotation", "gold")),
        *(f"ingest.chexpert_plus.{key}" for key in ("path", "images", "annotation", "gold")),
        *(f"ingest.rexgradient.{key}" for key in ("metadata", "images")),
        *(f"ingest.padchest_gr.{key}" for key in ("reports", "table", "images")),
        "compute.config",
        "compute.vllm.python",
        "labeler.chexbert",
        "policy.path",
        *(f"eval.radgraph.{key}" for key in ("python", "model")),
        *(f"eval.radeval.{key}" for key in ("python", "models")),
        *(f"eval.green.judge.{key}" for key in ("folder", "cache")),
        *(f"arms.new.reward.facts.judge.{key}" for key in ("folder", "cache")),
    }


CE_F1 = {"weight": 1.0, "uncertain_as_positive": False, "both_empty": 1.0}
BLEU2 = {"weight": 0.25, "preparation": "whitespace", "phase_switch": 0.5}
NLG = {"weight": 1.0, "preparation": "whitespace", "bleu": 4}
FACTS = {
    "weight": 1.0,
    "extractor": "rules",
    "entailment": "rules",
    "uncertain_as_positive": False,
    "beta": 1.5,
    "xi": 1.0e-8,
    "both_empty": 1.0,
}
ENDPOINT: Values = {
    "backend": "endpoint",
    "url": "http://localhost:8000/v1",
    "model": "some",
    "allowed_hosts": ["localhost"],
    "structured": True,
    "concurrency": 16,
    "retries": 3,
    "timeout": 120.0,
    "max_tokens": 1024,
    "temperature": 0.0,
    "seed": 0,
}
ASKED = FACTS | {"extractor": "judge", "entailment": "judge", "missing": "skip"}
EVERY_PART: Values = {
    "ce_f1": CE_F1,
    "bleu2": BLEU2,
    "nlg": NLG,
    "accuracy": {"weight": 1.0, "agreement": "all", "uncertain_as_positive": False},
    "mccs": {"weight": 0.75, "margin": 0.0, "eps": 1.0e-8},
    "format": {"weight": 0.25, "first_weight": 1.0, "phase_switch": 0.1},
    "facts": ASKED | {"judge": ENDPOINT},
}


def rewarded(values: Values, reward: Values, **arm: Any) -> Values:
    """The same parameters with a further arm of this reward."""
    return put(values, "arms.new", {"start": "sft", "selection": "full", "reward": reward} | arm)


def test_every_part_of_a_reward_can_be_set_and_each_alone(values: Values) -> None:
    valid = validate(rewarded(values, EVERY_PART, output="think_report"))
    reward = valid.arms["new"].reward
    assert reward is not None
    assert reward.model_dump(exclude_unset=True) == EVERY_PART
    for name, part in EVERY_PART.items():
        alone = part | {"phase_switch": 0.0, "first_weight": 0.0}
        validate(rewarded(values, {name: alone}, output="think_report"))


WRONG_REWARDS = [
    (
        {"ce_f1": CE_F1, "format": {"weight": 0.25}},
        "arms.new: reward.format judges the blocks of reasoning and report, but output is plain; set output",
    ),
    ({"ce_f1": None}, "arms.new.reward: an arm that trains needs at least one reward"),
    (
        {"ce_f1": CE_F1 | {"weight": 0.0}},
        "arms.new.reward: every weight is 0 when a share of 0 of the steps is done; give a part a weight",
    ),
    ({"bleu2": BLEU2}, "every weight is 0 when a share of 0 of the steps is done"),
    (
        {"ce_f1": CE_F1 | {"weight": 0.0, "first_weight": 1.0, "phase_switch": 0.5}},
        "every weight is 0 when a share of 0.5 of the steps is done",
    ),
    (
        {"ce_f1": CE_F1, "bleu2": BLEU2 | {"phase_switch": 1.5}},
        "arms.new.reward.bleu2.phase_switch: Input should be less than or equal to 1 (it is 1.5)",
    ),
    (
        {"ce_f1": CE_F1, "bleu2": {"weight": 0.25, "preparation": "basic"}},
        "arms.new.reward.bleu2.phase_switch: is missing",
    ),
    (
        {"ce_f1": CE_F1 | {"first_weight": 0.5}},
        "arms.new.reward: ce_f1.first_weight counts until phase_switch, which is 0; set both",
    ),
    ({"ce_f1": CE_F1 | {"weight": -1.0}}, "arms.new.reward.ce_f1.weight: Input should be greater than"),
    ({"ce_f1": CE_F1 | {"weight": float("inf")}}, "arms.new.reward.ce_f1.weight: Input should be a finite"),
    ({"ce_f1": CE_F1 | {"missing": "zero"}}, "ce_f1.missing: Input should be 'raise' or 'skip'"),
    ({"nlg": NLG | {"bleu": 5}}, "arms.new.reward.nlg.bleu: Input should be less than or equal to 4"),
    (
        {"format": {"weight": 1.0, "credits": {"no_think": 0.5}}},
        "arms.new.reward.format: credits lacks text_outside, empty_think",
    ),
    (
        {"format": {"weight": 1.0, "credits": dict.fromkeys(FAULTS, 0.5) | {"no_think": 1.0}}},
        "arms.new.reward.format.credits.no_think: Input should be less than 1 (it is 1.0)",
    ),
    (
        {"format": {"weight": 1.0, "credits": dict.fromkeys(FAULTS, 0.5) | {"no_think": -0.01}}},
        "arms.new.reward.format.credits.no_think: Input should be greater than or equal to 0 (it is -0.01)",
    ),
    (
        {"ce_f1": CE_F1 | {"first_weight": -0.5, "phase_switch": 0.5}},
        "arms.new.reward.ce_f1.first_weight: Input should be greater than or equal to 0",
    ),
    ({"facts": ASKED}, "arms.new.reward.facts: extractor is judge, but there is no section judge"),
    ({"facts": FACTS | {"judge": ENDPOINT}}, "arms.new.reward.facts: judge is set, but extractor is"),
    (
        {"facts": ASKED | {"judge": ENDPOINT | {"allowed_hosts": []}}},
        "arms.new.reward.facts.judge: allowed_hosts [] lacks 'localhost', where url leads",
    ),
    (
        {"facts": ASKED | {"judge": {k: v for k, v in ENDPOINT.items() if k != "allowed_hosts"}}},
        "arms.new.reward.facts.judge.allowed_hosts: is missing",
    ),
    (
        {"facts": ASKED | {"judge": ENDPOINT | {"url": "localhost"}}},
        "arms.new.reward.facts.judge: url is no address",
    ),
    (
        {"facts": ASKED | {"judge": ENDPOINT | {"url": "http://[::1/v1"}}},  # a bracket is open
        "arms.new.reward.facts.judge: url is no address",
    ),
]


@pytest.mark.parametrize(("reward", "message"), WRONG_REWARDS)
def test_wrong_reward_is_named_with_the_mend(values: Values, reward: Values, message: str) -> None:
    assert message in refusal(rewarded(values, reward))


def test_places_of_a_prompt_are_known_and_in_the_corpus(values: Values) -> None:
    asked = put(values, "prompts.plain", "Age {age|unknown}. Before: {prior:60}.")
    assert "prompts.plain has the place {age}, but the corpus has no such column" in refusal(asked)
    assert "name prior in ingest.context" in refusal(put(asked, "ingest.context", ["age"]))
    params = validate(put(asked, "ingest.context", ["age", "prior"]))
    assert params.ingest.context == ["age", "prior"]
    assert "there is no place {priors}; did you mean 'prior'?" in refusal(
        put(values, "prompts.plain", "Before: {priors}.")
    )
    assert "ingest.context" in refusal(put(values, "ingest.context", ["sex"]))


def test_the_prompt_of_no_arm_wants_no_column(values: Values) -> None:
    values["arms"] = {name: values["arms"][name] for name in ("base", "sft", "grpo")}
    validate(put(values, "prompts.think_report", "Think. {prior}"))
    built = put(values, "prompts.think_report", "Think. {prior}")
    assert "prompts.think_report has the place {prior}" in refusal(put(built, "policy.path", None))


def test_context_adds_nothing_to_a_digest_unless_it_is_asked_for(values: Values) -> None:
    plain = validate(values).ingest.digest()
    assert validate(put(values, "ingest.context", [])).ingest.digest() == plain
    assert validate(put(values, "ingest.context", ["age"])).ingest.digest() != plain


def test_unknown_form_of_output_is_named(values: Values) -> None:
    said = refusal(put(values, "arms.grpo.output", "json"))
    assert "arms.grpo.output: Input should be 'plain' or 'think_report' (it is 'json')" in said


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("ce_rules_sampl14_f1", "is no metric; did you mean 'ce_rules_sample14_f1'? Valid names: ce_rules_"),
        ("ce_rules_gold_micro14", "is no metric; did you mean 'ce_rules_gold_micro14_f1'?"),
        ("nlg_bleu5", "is no metric; did you mean 'nlg_bleu4'? Valid names: nlg_bleu1,"),
        ("nlg_meteors", "is no metric"),
        ("green_rule", "did you mean 'green_rules'?"),
        ("green_rules_wrong_location", "less is better"),
    ],
)
def test_metric_of_the_table_that_nobody_gives_is_named(values: Values, metric: str, message: str) -> None:
    said = refusal(put(values, "compare.metrics", ["nlg_bleu4", metric]))
    assert f"{metric!r}" in said
    assert "compare.metrics: " in said
    assert message in said


@pytest.mark.parametrize(
    ("figure", "message"),
    [
        ("nlg_bleu5", "is no metric; did you mean 'nlg_bleu4'?"),
        ("words_mena", "is none of what eval.families"),
    ],
)
def test_a_headline_that_eval_would_not_have_is_refused_before_an_arm_trains(values, figure, message):
    assert f"eval.headline: {figure!r} {message}" in refusal(put(values, "eval.headline", [figure]))
    validate(put(values, "eval.headline", ["nlg_meteor", "words_mean", "ce_rules_gold_macro14_f1"]))


def test_metrics_that_only_a_model_knows_are_told_by_their_family(values: Values) -> None:
    own = {"python": None, "metrics": ["srr_bert"], "models": None}
    changed = put(put(values, "eval.radeval", own), "eval.families", ["nlg", "radeval"])
    changed = put(changed, "eval.headline", ["nlg_bleu4", "radeval_srr_bert"])
    validate(put(changed, "compare.metrics", ["radeval_srr_bert"]))
    assert "metrics begin with nlg, radeval" in refusal(put(changed, "compare.metrics", ["green_rules"]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"policy.dtype": "bfloat16"},
            "sft.bf16 is false, but policy.dtype is bfloat16: what trains is float32",
        ),
        (
            {"policy.dtype": "bfloat16", "sft.bf16": True},
            "training.bf16 is false, but policy.dtype is bfloat16",
        ),
        (
            {
                "policy.dtype": "bfloat16",
                "sft.bf16": True,
                "training.bf16": True,
                "arms.grpo.training": {"bf16": False},
            },
            "arms.grpo.training.bf16 is false, but policy.dtype is bfloat16",
        ),
        (
            {"policy.dtype": "bfloat16", "sft.bf16": True, "training.bf16": True, "policy.path": None},
            "policy.pretrain.bf16 is false, but policy.dtype is bfloat16",
        ),
        (
            {"policy.dtype": "float16"},
            "policy.dtype float16 is for policies that do not train; take bfloat16",
        ),
    ],
)
def test_frozen_weights_in_bfloat16_want_autocast(values: Values, changes: Values, message: str) -> None:
    for key, value in changes.items():
        values = put(values, key, value)
    assert message in refusal(values)


def test_what_does_not_train_may_be_of_any_dtype(values: Values) -> None:
    values = put(
        put(values, "arms", {"base": {"start": "base", "selection": "full"}}), "compare.reference", "base"
    )
    assert validate(put(values, "policy.dtype", "float16")).policy.dtype == "float16"
    both = put(put(values, "policy.dtype", "bfloat16"), "training.bf16", False)
    assert validate(both)


def test_a_source_without_its_section_names_it_and_where_to_copy_it_from(values: dict[str, Any]) -> None:
    values["ingest"]["source"] = "mimic_cxr"
    with pytest.raises(ParamsError, match=r"no section ingest\.mimic_cxr; copy it from a recipe"):
        validate(values)


def test_a_laptop_policy_that_is_not_described_names_the_section(values: dict[str, Any]) -> None:
    del values["policy"]["vision"]
    values["policy"]["path"] = None
    with pytest.raises(ParamsError, match=r"there is no policy\.vision"):
        validate(values)
    values["policy"]["path"] = "weights"
    assert validate(values).policy.vision is None
