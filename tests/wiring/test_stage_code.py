"""Which stages run again for which change: those that compute with it, and no other."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kedro_repro import code_digests as code
from kedro_repro.code_digests import digests, stage_code
from kedro_repro.project import Project, load
from radrl.pipelines.stages import LAST, ONCE, PER_ARM, PER_SELECTION
from radrl.process import importing

ROOT = Path(__file__).parents[2]
OWN = load(ROOT)
GRPO = ["grpo", "deer", "orapo", "mrg_r1"]
"""Arms that train."""

EVERY_ARM = ["base", "sft", "sft_think", *GRPO]
DEER = ["grpo", "deer"]
GRADIENT = ["deer"]
FACTS = ["orapo"]
LABELLED = {"labeler", "label", "ddsampling", "analyses", "compare"}
"""Stages beside the arms' own that read reports by the rules."""


def of(stage: str, arms: list[str] = EVERY_ARM) -> set[str]:
    return {f"{stage}.{arm}" for arm in arms}


@pytest.fixture(scope="module")
def params() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((ROOT / "params.yaml").read_text())
    return read


@pytest.fixture(scope="module")
def code_of(params: dict[str, Any]) -> dict[str, set[str]]:
    """By stage or stage.arm, the modules that are its code."""
    once = {stage: {*stage_code(OWN, stage, params)} for stage in (*ONCE, LAST)}
    return once | {
        f"{stage}.{arm}": {*stage_code(OWN, stage, params, arm)}
        for stage in PER_ARM
        for arm in params["arms"]
    }


def flat(found: dict[str, Any]) -> dict[str, str]:
    """By stage or stage.arm its digest."""
    return {
        f"{stage}.{key}" if key else stage: digest
        for stage, own in found.items()
        for key, digest in (own.items() if isinstance(own, dict) else [("", own)])
    }


@pytest.fixture
def run_again(params: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., set[str]]:
    """What runs again when a module of radrl is rewritten by a function of its source."""

    def edited(module: str, rewrite: Callable[[str], str]) -> set[str]:
        file = ROOT.joinpath("src", *module.split(".")).with_suffix(".py")
        old = file.read_text()
        new = rewrite(old)
        assert new != old
        before = flat(digests(OWN, params))
        original = code._file_digest

        def digest(path: Path, changed: int) -> str:
            return code.syntax_digest(ast.parse(new)) if path == file else original(path, changed)

        with monkeypatch.context() as patch:
            patch.setattr(code, "_file_digest", digest)
            after = flat(digests(OWN, params))
        return {name for name in before if before[name] != after[name]}

    return edited


def otherwise(source: str) -> str:
    """The module with one statement more."""
    return source + "\n_OTHER = 1\n"


@pytest.mark.parametrize(
    "rewrite",
    [
        lambda source: ast.unparse(ast.parse(source)),
        lambda source: source + "\n# and so on\n",
        lambda source: source.replace('"""', '"""Or: ', 1),
    ],
    ids=["written anew", "comment", "docstring"],
)
def test_writing_it_down_otherwise_runs_nothing(
    run_again: Callable[..., set[str]], rewrite: Callable[[str], str]
) -> None:
    assert run_again("radrl.algorithms.f_measure", rewrite) == set()
    assert run_again("radrl.training.reinforcement.trainer", rewrite) == set()


@pytest.mark.parametrize(
    ("module", "again"),
    [
        # what watches, warns, names, draws or prints
        ("training.watching.reward_hacking", {"compare"}),
        ("training.watching.cannot_learn", {"compare"}),
        ("training.watching.mends", {"compare"}),
        ("training.watching.diagnosis", {"compare"}),
        ("training.watching.progress", set()),
        ("pipelines.compare.training", {"compare"}),
        ("pages.page", {"compare", "analyses"}),
        ("wiring.tracker", set()),
        ("commands.repro", set()),
        ("parts.builtin", set()),
        # parts that nobody names
        ("rewards.nlg", set()),
        ("rewards.accuracy", set()),
        ("scoring.judge.endpoint", set()),
        ("scoring.judge.folder", set()),
        ("scoring.green", set()),
        ("scoring.radgraph", set()),
        ("data.sources.csv", set()),
        ("data.sources.mimic_cxr.tables", set()),
        ("labelers.chexbert.published", set()),
        # parts that some arms name
        ("rewards.ce_f1", of("train", DEER) | {"analyses"}),
        ("rewards.bleu2", of("train", DEER)),
        ("rewards.facts", of("train", FACTS)),
        ("rewards.mccs", of("train", ["mrg_r1"])),
        ("rewards.format", of("train", ["mrg_r1"])),
        ("credit.tf_idf", {"analyses"}),
        ("credit.gradient", of("train", GRADIENT) | {"analyses"}),
        ("scoring.rules.graph", of("eval") | {"compare"}),
        ("data.sources.phantom", {"ingest"}),
        # equations
        ("algorithms.balanced", {"selection"}),
        ("algorithms.ddsampling", {"ddsampling", "analyses", "compare"}),
        ("algorithms.facts", of("train", FACTS) | {"compare"}),
        ("scoring.facts.rules", of("train", FACTS) | {"compare"}),
        ("algorithms.tf_idf", {"analyses"}),
        ("algorithms.masking", {"analyses"}),
        ("algorithms.advantages", of("train") | {"analyses"}),
        ("evaluation.bootstrap", {"analyses", "compare"}),
        ("labelers.rules.assertion", LABELLED | of("train", GRPO) | of("eval") | {"ingest"}),
        ("training.supervised.vision", {"policy"}),
        ("training.supervised.fine_tuning", {"policy", "sft"}),
        ("readers.probe", {"ceilings"}),
    ],
)
def test_a_change_runs_what_computes_with_it(
    code_of: dict[str, set[str]], module: str, again: set[str]
) -> None:
    assert ROOT.joinpath("src/radrl", *module.split(".")).with_suffix(".py").is_file()
    assert {name for name, modules in code_of.items() if f"radrl.{module}" in modules} == again


def test_mccs_is_the_reward_of_one_arm_and_is_watched_and_scored_of_all(code_of: dict[str, set[str]]) -> None:
    def found(module: str) -> set[str]:
        return {name for name, modules in code_of.items() if module in modules}

    assert found("radrl.rewards.mccs") & of("train") == {"train.mrg_r1"}
    assert of("eval") | of("train", GRPO) <= found("radrl.algorithms.mccs")


def test_a_change_changes_the_digests_of_those_whose_code_it_is(
    run_again: Callable[..., set[str]], code_of: dict[str, set[str]]
) -> None:
    module = "radrl.rewards.ce_f1"
    assert run_again(module, otherwise) == {name for name, own in code_of.items() if module in own} != set()


def test_every_process_finds_the_same_digests() -> None:
    """Python's sets have another order in each process."""
    script = (
        "import yaml; from kedro_repro.code_digests import digests;"
        "from kedro_repro.project import load; from pathlib import Path;"
        "print(digests(load(Path.cwd()), yaml.safe_load(open('params.yaml'))))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            cwd=ROOT,
            env={
                **os.environ,
                "PYTHONPATH": importing.first(ROOT / "src", os.environ),
                "PYTHONHASHSEED": seed,
            },
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(found) == 1


def test_an_arm_that_names_another_reward_is_other_code(params: dict[str, Any]) -> None:
    arms = params["arms"] | {"grpo": params["arms"]["grpo"] | {"reward": {"format": {"weight": 1.0}}}}
    before, after = flat(digests(OWN, params)), flat(digests(OWN, params | {"arms": arms}))
    assert {name for name in before if before[name] != after[name]} == {"train.grpo"}


def test_files_beside_a_module_are_its_code(params: dict[str, Any]) -> None:
    files = {str(file.relative_to(ROOT)) for file in stage_code(OWN, "compare", params).values()}
    assert "src/radrl/pipelines/compare/page.html.j2" in files
    assert {"src/radrl/labelers/rules/phrases.yml", "src/radrl/scoring/rules/vocabulary.yml"} <= files
    assert not any("weighted_findings" in name for name in files)
    assert not any(name.endswith((".pyc", ".typed")) for name in files)


def test_scripts_that_run_by_their_path_are_code_of_who_runs_them(params: dict[str, Any]) -> None:
    def modules(families: list[str]) -> set[str]:
        return {*stage_code(OWN, "eval", params | {"eval": params["eval"] | {"families": families}}, "grpo")}

    worker = "radrl.process.isolated.radgraph_worker"
    assert worker in modules(["ce", "radgraph"])
    assert worker not in modules(["ce"])


def test_what_the_package_hands_to_programs_is_no_code_of_its_stages(
    code_of: dict[str, set[str]], run_again: Callable[..., set[str]]
) -> None:
    assert {name for name, own in code_of.items() if own & {*OWN.lazy_packages.values()}} == set()
    for face in OWN.lazy_packages:
        assert run_again(f"{face}.__init__", otherwise) == set()


@pytest.mark.parametrize(
    ("asked", "handed_on"),
    [
        ("import radrl", {"radrl.api", "radrl.rewards.other_trainers", "radrl.credit.other_trainers"}),
        ("from radrl import score", {"radrl.api", "radrl.rewards.other_trainers"}),
        (
            "def mine():\n    from radrl.rewards import get",
            {"radrl.rewards.other_trainers", "radrl.rewards.mccs"},
        ),
        ("from radrl.rewards.bleu2 import Bleu2", set()),
    ],
)
def test_a_part_of_ones_own_that_asks_for_these_names_has_their_code(
    params: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    asked: str,
    handed_on: set[str],
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    module = f"asks_{abs(hash(asked))}"
    body = "def reward(reports, references, *, words: int = 4):\n    return [0.0] * len(reports)\n"
    (tmp_path / f"{module}.py").write_text(f"{asked}\n\n\n{body}")
    grpo = params["arms"]["grpo"] | {"reward": {"own": {"part": f"{module}:reward", "weight": 1.0}}}
    found = {*stage_code(OWN, "train", params | {"arms": params["arms"] | {"grpo": grpo}}, "grpo")}
    assert module in found
    assert handed_on <= found
    assert bool(handed_on) == bool(found & {*OWN.lazy_packages.values()})
    assert ("radrl.rewards.mccs" in found) == bool(handed_on)


def test_a_module_of_ours_is_handed_nothing_by_a_package_it_names(tmp_path: Path) -> None:
    file = tmp_path / "asks.py"
    file.write_text("from radrl.rewards import get")
    modules = {"radrl.rewards.asks": file}
    assert code._handed_on(OWN, modules) == set()
    assert code._handed_on(OWN, modules | {"mine.asks": file}) == {"radrl.rewards.other_trainers"}


def test_stages_are_named_as_dvc_names_them() -> None:
    params = {"selection": {"own": {"few": {}}}, "arms": {"sft": {}, "grpo": {}}}
    found = code.stages(OWN, params)
    assert found[: len(ONCE) + 1] == [*ONCE, LAST]
    assert found[len(ONCE) + 1 :] == [
        "own_selection@few",
        *(f"{stage}@{arm}" for stage in PER_ARM for arm in ("sft", "grpo")),
    ]
    assert "own_selection@few" not in code.stages(OWN, params | {"selection": {"own": None}})
    assert code.split("train@grpo") == ("train", "grpo")
    assert code.split("label") == ("label", None)


def test_digests_are_written_in_their_order_and_only_where_they_are_others(tmp_path: Path) -> None:
    found: code.Digests = {"sft": "1", "label": "2", "train": {"grpo": "3", "deer": "4"}}
    code.write_digests(Project(tmp_path, {}), found)
    file = tmp_path / code.CODE_FILE
    lines = [line.split(":")[0].strip() for line in file.read_text().splitlines() if line[0] != "#"]
    assert lines == ["sft", "label", "train", "grpo", "deer"]
    assert code.recorded_digests(tmp_path) == found
    before = file.stat()
    code.write_digests(Project(tmp_path, {}), dict(found))
    assert file.stat().st_ino == before.st_ino  # not even written anew
    code.write_digests(Project(tmp_path, {}), found | {"label": "5"})
    assert code.recorded_digests(tmp_path)["label"] == "5"
    assert code.recorded_digests(tmp_path / "elsewhere") == {}


def test_what_runs_the_stages_is_no_code_of_theirs(code_of: dict[str, set[str]]) -> None:
    assert not {name for own in code_of.values() for name in own if name.startswith("kedro_repro")}


def test_the_table_of_stages_is_that_of_the_pipelines() -> None:
    assert [*OWN.stages] == [*ONCE, PER_SELECTION, *PER_ARM, LAST]
