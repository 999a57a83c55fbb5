"""The record of runs: what MLflow holds after pipelines of two nodes, and what is refused before."""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
import yaml
from kedro.framework.hooks.manager import _create_hook_manager
from kedro.io import DataCatalog, MemoryDataset
from kedro.pipeline import Pipeline, node, pipeline
from kedro.runner import SequentialRunner
from kedro_datasets.json import JSONDataset
from kedro_datasets.pandas import CSVDataset
from mlflow import MlflowClient
from mlflow.entities import Run

from radrl.datasets import ArrowShards, Folder, HtmlPage
from radrl.pages import run_notes
from radrl.params.messages import ParamsError
from radrl.process.run_group import VARIABLE
from radrl.wiring import hooks
from radrl.wiring.hooks import (
    OBSERVERS,
    PAGE,
    SELECTED,
    STEP_REPORT,
    LastWordHooks,
    ProjectHooks,
    SelectedHooks,
    TrackingHooks,
)
from radrl.wiring.policy_models import Scored
from radrl.wiring.tracker import Tracker

TRAINING = {"steps": 2, "lora": {"rank": 4}, "betas": [0.9, 0.99]}
PATHS = {"arm.reward.judge.folder"}
PARAMS = {
    "training": TRAINING,
    "arms": {"sft": {"start": "base"}, "grpo": {"start": "sft", "training": {"steps": 9}}},
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to keep records in; the data base is made once, which takes seconds."""
    return tmp_path_factory.mktemp("project")


@pytest.fixture
def experiment(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each test has its own."""
    for name in ("MLFLOW_TRACKING_URI", "DVC_ROOT", "DVC_STAGE", "DVC_EXP_NAME", VARIABLE):
        monkeypatch.delenv(name, raising=False)
    name: str = request.node.name
    return name


@pytest.fixture(autouse=True)
def short_params(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests' parameters are no whole params.yaml, so nobody asks it for paths."""
    monkeypatch.setattr(hooks, "_private", lambda params: PATHS)


OF_PARAMS = hooks._private


def test_paths_of_parts_are_kept_from_the_record_of_whole_studies_and_of_arms(root: Path) -> None:
    params = yaml.safe_load((root / "params.yaml").read_text())
    judge = {"backend": "folder", "folder": "/weights", "chat": "own", "batch_size": 1, "max_new_tokens": 9}
    asked = {"extractor": "judge", "entailment": "judge", "judge": judge}
    params["arms"]["orapo"]["reward"]["facts"] |= asked
    keys = [f"reward.facts.judge.{key}" for key in ("folder", "cache")]
    own = {f"{arm}.{key}" for arm in ("arms.orapo", "arm") for key in keys}
    assert own <= OF_PARAMS(params)
    assert "policy.path" in OF_PARAMS(params)


def context(project: Path, experiment: str) -> Any:
    conf = {"tracking_uri": "sqlite:///mlflow.db", "artifacts": "mlartifacts", "experiment": experiment}
    return SimpleNamespace(config_loader={"tracking": conf}, project_path=project, params=PARAMS)


def run_kedro(stages: Pipeline, catalog: DataCatalog, session: Any) -> None:
    """Run as Kedro's session does, with the hooks it would call."""
    manager = _create_hook_manager()
    manager.register(TrackingHooks())
    manager.hook.after_context_created(context=session)
    manager.hook.after_catalog_created(
        catalog=catalog, conf_catalog={}, conf_creds={}, parameters={}, save_version="", load_versions={}
    )
    manager.hook.before_pipeline_run(run_params={}, pipeline=stages, catalog=catalog)
    try:
        SequentialRunner().run(stages, catalog, hook_manager=manager)
    except Exception as error:
        manager.hook.on_pipeline_error(error=error, run_params={}, pipeline=stages, catalog=catalog)
        raise
    manager.hook.after_pipeline_run(run_params={}, run_result={}, pipeline=stages, catalog=catalog)


def recorded(project: Path, experiment: str, where: str = "tags.stage != 'study'") -> list[Run]:
    client = MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    found = client.get_experiment_by_name(experiment)
    return sorted(
        client.search_runs([found.experiment_id], where), key=lambda run: run.data.tags["mlflow.runName"]
    )


def scores(run: Run) -> dict[str, float]:
    """What a run's metrics tell besides its cost."""
    return {name: value for name, value in run.data.metrics.items() if not name.startswith("usage/")}


def learn(corpus: list[int], settings: dict[str, Any], step_report: Callable[..., None]) -> Any:
    for step in (1, 2):
        step_report(step, {"reward": step / 4})
    return (lambda folder: (folder / "weights").write_text("1")), {"films": len(corpus)}


def score(policy: Path, settings: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    import pandas as pd

    scores = {"f1": 0.5, "by": {"edema": 0.25}, "sure": True, "skipped": {"meteor": "no Java"}}
    return scores, pd.DataFrame({"label": ["edema"]})


def pick(scores: dict[str, Any]) -> dict[str, Any]:
    return {"f1": scores["f1"]}


def show(corpus: list[int]) -> None:
    assert corpus


def study(*arms: str) -> Pipeline:
    """Two stages of each arm; the runner takes the arms' nodes in turns."""
    train = pipeline(
        [node(learn, ["corpus", "params:training", STEP_REPORT], ["policy", "summary"], name="learn")],
        tags="stage.train",
    )
    evaluate = pipeline(
        [
            node(score, ["policy", "params:eval"], ["scores", "table"], name="score"),
            node(pick, "scores", "headline", name="pick"),
        ],
        tags="stage.eval",
    )
    return sum(
        (
            pipeline(stage, namespace=arm, inputs=shared, parameters=parameters)
            for arm in arms
            for stage, shared, parameters in (
                (train, {"corpus", STEP_REPORT}, {"params:training"}),
                (evaluate, None, {"params:eval"}),
            )
        ),
        pipeline([node(show, "corpus", None, name="show", tags="stage.eval")]),
    )


@pytest.fixture
def catalog(tmp_path: Path) -> Callable[..., DataCatalog]:
    def make(*arms: str) -> DataCatalog:
        (tmp_path / "corpus.json").write_text("[1, 2, 3]")
        datasets: dict[str, Any] = {
            "corpus": JSONDataset(filepath=str(tmp_path / "corpus.json")),
            "params:training": MemoryDataset(TRAINING),
            "params:eval": MemoryDataset({"nlg": True}),
        }
        for arm in arms:
            datasets |= {
                f"{arm}.policy": Folder(str(tmp_path / arm)),
                f"{arm}.scores": JSONDataset(
                    filepath=str(tmp_path / f"{arm}.json"), metadata={"mlflow": "metrics"}
                ),
                f"{arm}.table": CSVDataset(
                    filepath=str(tmp_path / f"{arm}.csv"), metadata={"mlflow": "artifact"}
                ),
            }
        return DataCatalog(datasets)

    return make


def test_one_run_a_stage_and_arm_however_nodes_take_turns(
    project: Path, experiment: str, catalog: Callable[..., DataCatalog]
) -> None:
    run_kedro(study("sft", "grpo"), catalog("sft", "grpo"), context(project, experiment))
    runs = recorded(project, experiment)
    named = [(run.data.tags["mlflow.runName"], run.data.tags["stage"], run.data.tags["arm"]) for run in runs]
    assert named == [
        ("eval grpo", "eval", "grpo"),
        ("eval sft", "eval", "sft"),
        ("train grpo", "train", "grpo"),
        ("train sft", "train", "sft"),
    ]
    assert {run.info.status for run in runs} == {"FINISHED"}
    assert [run.data.tags["arm"] for run in recorded(project, experiment, "tags.stage = 'eval'")] == [
        "grpo",
        "sft",
    ]


def test_run_holds_params_steps_metrics_and_artifacts(
    project: Path, experiment: str, catalog: Callable[..., DataCatalog]
) -> None:
    run_kedro(study("sft"), catalog("sft"), context(project, experiment))
    evaluated, trained = recorded(project, experiment)
    section = {"training.steps": "2", "training.lora.rank": "4", "training.betas": "[0.9, 0.99]"}
    assert trained.data.params == section | {"arm.start": "base"}
    client = MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    steps = client.get_metric_history(trained.info.run_id, "training/reward")
    assert [(metric.step, metric.value) for metric in steps] == [(1, 0.25), (2, 0.5)]
    assert evaluated.data.params == section | {"arm.start": "base", "eval.nlg": "True"}
    assert scores(evaluated) == {"eval/f1": 0.5, "by/edema": 0.25}
    assert [entry.path for entry in client.list_artifacts(evaluated.info.run_id)] == ["sft.csv"]
    assert (project / "mlartifacts" / evaluated.info.run_id / "artifacts" / "sft.csv").is_file()


@pytest.mark.parametrize(
    ("part", "label"),
    [
        ("uniform", "uniform"),
        ({"gradient": {"beta": 1.0}, "tf_idf": None}, "gradient"),
        ({"ce_f1": {"weight": 1.0}, "bleu2": {"weight": 0.25}}, "ce_f1 + bleu2"),
        ({"momentum": 0.5, "w_min": 0.05}, "adaptive"),
        (None, ""),
    ],
)
def test_a_part_has_a_plain_name_to_search_by(part: Any, label: str) -> None:
    assert hooks._names(part) == label


@pytest.mark.parametrize(
    ("source", "models", "logged"),
    [
        ("phantom", "drawn", True),
        ("mimic_cxr", "drawn", False),  # it may repeat what it read
        ("mimic_cxr", "all", True),
        ("phantom", "none", False),
    ],
)
def test_a_policy_of_patients_stays_out_of_the_record_unless_asked(
    project: Path,
    experiment: str,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    models: str,
    logged: bool,
) -> None:
    taken: list[str] = []
    monkeypatch.setattr(Tracker, "policy", lambda self, path, params, arm, recipe: taken.append(arm))
    monkeypatch.setattr(hooks.schema, "validate", lambda values: values)
    session = context(project, experiment)
    session.config_loader["tracking"]["models"] = models
    session.params = PARAMS | {"ingest": {"source": source}}
    tracking = TrackingHooks()
    tracking.after_context_created(session)
    policy = Folder(str(project / "grpo"))
    policy.metadata = {"mlflow": "policy"}
    tracking._catalog = DataCatalog({"grpo.policy": policy})
    tracking.after_dataset_saved("grpo.policy", None)
    assert taken == (["grpo"] if logged else [])


def test_the_model_carries_the_scores_that_are_compared_and_the_run_all(
    project: Path, experiment: str, catalog: Callable[..., DataCatalog], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    asked: list[str] = []

    def scored(tracker: Tracker, kind: str) -> Scored:
        asked.append(kind)
        made = client.create_logged_model(tracker._experiment(), "sft", tracker._run)
        return Scored(made.model_id, "corpus.test", "sha256:1", "{}")

    monkeypatch.setattr(Tracker, "scored", scored)
    data = catalog("sft")
    data["sft.scores"].metadata = {"mlflow": "metrics", "mlflow_model": "reports"}
    own = context(project, experiment)
    own.params = PARAMS | {"eval": {"headline": ["f1"]}, "compare": {"metrics": ["f1", "skipped_by_eval"]}}
    run_kedro(study("sft"), data, own)
    (evaluated,) = recorded(project, experiment, "tags.stage = 'eval'")
    (model,) = client.search_logged_models([evaluated.info.experiment_id])
    assert asked == ["reports"]
    assert [(one.key, one.value, one.dataset_name) for one in model.metrics] == [
        ("eval/f1", 0.5, "corpus.test")
    ]
    assert scores(evaluated) == {"eval/f1": 0.5, "by/edema": 0.25}


def test_runs_that_score_arms_carry_what_sets_the_arms_apart(
    project: Path, experiment: str, catalog: Callable[..., DataCatalog]
) -> None:
    run_kedro(study("sft", "grpo"), catalog("sft", "grpo"), context(project, experiment))
    grpo, sft = recorded(project, experiment, "tags.stage = 'eval'")
    different = {key for key in grpo.data.params if grpo.data.params[key] != sft.data.params.get(key)}
    assert different == {"arm.start", "arm.training.steps", "training.steps"}
    assert grpo.data.params["training.steps"] == "9"


def test_run_holds_digests_of_what_it_read_and_wrote(
    project: Path, experiment: str, catalog: Callable[..., DataCatalog], tmp_path: Path
) -> None:
    data = catalog("sft")
    run_kedro(study("sft"), data, context(project, experiment))
    evaluated, trained = recorded(project, experiment)
    inputs = {entry.dataset.name: entry.dataset for entry in trained.inputs.dataset_inputs}
    assert set(inputs) == {"corpus", "sft.policy"}
    known = {entry.dataset.name: entry.dataset.digest for entry in evaluated.inputs.dataset_inputs}
    assert set(known) == {"sft.policy", "sft.scores", "sft.table"}
    assert known["sft.policy"] == inputs["sft.policy"].digest
    assert "[1, 2, 3]" not in f"{inputs['corpus'].source}{inputs['corpus'].profile}"

    os.utime(tmp_path / "corpus.json", (0, 0))
    run_kedro(study("sft"), data, context(project, experiment))
    (tmp_path / "corpus.json").write_text("[1, 2, 4]")
    run_kedro(study("sft"), data, context(project, experiment))
    runs = sorted(recorded(project, experiment, "tags.stage = 'train'"), key=lambda run: run.info.start_time)
    digests = [
        entry.dataset.digest
        for run in runs
        for entry in run.inputs.dataset_inputs
        if entry.dataset.name == "corpus"
    ]
    assert digests[0] == digests[1] != digests[2]  # time does not count, content does


def test_run_that_breaks_is_marked_and_the_others_are_not(
    project: Path, experiment: str, catalog: Callable[..., DataCatalog], monkeypatch: pytest.MonkeyPatch
) -> None:
    def collapse(policy: Path, settings: dict[str, Any]) -> Any:
        raise RuntimeError("no such metric")

    monkeypatch.setitem(globals(), "score", collapse)
    with pytest.raises(RuntimeError, match="no such metric"):
        run_kedro(study("sft"), catalog("sft"), context(project, experiment))
    status = {run.data.tags["stage"]: run.info.status for run in recorded(project, experiment)}
    assert status == {"train": "FINISHED", "eval": "FAILED"}


def test_runs_stand_below_one_that_has_the_state_of_them_all(
    project: Path, experiment: str, catalog: Callable[..., DataCatalog], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, 'the "wide" one')
    run_kedro(study("sft"), catalog("sft"), context(project, experiment))
    run_kedro(study("grpo"), catalog("grpo"), context(project, experiment))  # as when it is started again
    (above,) = recorded(project, experiment, "tags.stage = 'study'")
    assert above.data.tags["mlflow.runName"] == "the 'wide' one"
    assert above.info.status == "FINISHED"
    below = recorded(project, experiment)
    assert {run.data.tags["mlflow.parentRunId"] for run in below} == {above.info.run_id}
    assert {run.data.tags["study"] for run in below} == {"the 'wide' one"}
    assert above.info.end_time >= max(run.info.end_time for run in below)

    monkeypatch.setitem(globals(), "score", lambda policy, settings: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run_kedro(study("sft"), catalog("sft"), context(project, experiment))
    (above,) = recorded(project, experiment, "tags.stage = 'study'")
    assert above.info.status == "FAILED"


def test_a_run_of_one_stage_that_nobody_started_for_more_stands_alone(
    project: Path, experiment: str, catalog: Callable[..., DataCatalog]
) -> None:
    run_kedro(study("sft").only_nodes_with_tags("stage.train"), catalog("sft"), context(project, experiment))
    (alone,) = recorded(project, experiment, "")
    assert "mlflow.parentRunId" not in alone.data.tags


def test_a_run_says_what_it_took_and_on_what(
    project: Path, experiment: str, catalog: Callable[..., DataCatalog]
) -> None:
    def work(policy: Path, settings: dict[str, Any]) -> Any:
        end = time.process_time() + 0.3
        while time.process_time() < end:
            pass
        return score(policy, settings)

    stages = Pipeline(
        [
            n._copy(func=work) if n.tags == {"stage.eval"} and "score" in n.name else n
            for n in study("sft").nodes
        ]
    )
    run_kedro(stages, catalog("sft"), context(project, experiment))
    evaluated, trained = recorded(project, experiment)
    assert evaluated.data.metrics["usage/cpu_seconds"] >= 0.3 > trained.data.metrics["usage/cpu_seconds"]
    assert evaluated.data.metrics["usage/seconds"] >= 0.3
    assert evaluated.data.metrics["usage/peak_memory_mb"] > 50
    assert int(evaluated.data.tags["hardware.cores"]) >= 1
    assert evaluated.data.tags["hardware.memory"].endswith(" GiB")
    assert evaluated.data.tags["hardware.processor"]


def test_reports_on_drawn_films_are_a_table_and_those_on_patients_stay_out(
    project: Path, experiment: str, catalog: Callable[..., DataCatalog]
) -> None:
    data = catalog("sft")
    for source, kept in {"phantom": True, "csv": False}.items():
        data["sft.table"].metadata = {"mlflow": "table of drawn films"}
        own = context(project, f"{experiment} {source}")
        own.params = PARAMS | {"ingest": {"source": source}}
        run_kedro(study("sft"), data, own)
        (evaluated,) = recorded(project, f"{experiment} {source}", "tags.stage = 'eval'")
        client = MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
        files = [entry.path for entry in client.list_artifacts(evaluated.info.run_id)]
        assert files == (["table.json"] if kept else [])
        if kept:
            table = json.loads(
                Path(client.download_artifacts(evaluated.info.run_id, "table.json")).read_text()
            )
            assert table == {"columns": ["label"], "data": [["edema"]]}


def test_the_page_is_kept_with_its_notes_inside(
    project: Path, experiment: str, catalog: Callable[..., DataCatalog], tmp_path: Path
) -> None:
    file = tmp_path / "page.html"
    text = run_notes.sealed(f'<p id="run">unknown</p><script src="{run_notes.UNSEALED}"></script>')
    file.write_text(text)
    run_notes.write(file, {"run": "<p>at abc</p>"})
    data = catalog("sft")
    data["sft.headline"] = HtmlPage(str(file), metadata={"mlflow": "page of drawn films"})
    own = context(project, experiment)
    own.params = PARAMS | {"ingest": {"source": "phantom"}}
    stages = Pipeline(
        [n._copy(func=lambda scores: text) if "pick" in n.name else n for n in study("sft").nodes]
    )
    run_kedro(stages, data, own)
    (evaluated,) = recorded(project, experiment, "tags.stage = 'eval'")
    client = MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    kept = Path(client.download_artifacts(evaluated.info.run_id, "page.html"))
    assert kept.read_text() == "<p>at abc</p>"
    assert file.read_text() == text


def test_datasets_have_their_columns_and_size(
    project: Path, experiment: str, catalog: Callable[..., DataCatalog]
) -> None:
    run_kedro(study("sft"), catalog("sft"), context(project, experiment))
    evaluated, _ = recorded(project, experiment)
    known = {entry.dataset.name: entry.dataset for entry in evaluated.inputs.dataset_inputs}
    column = {"name": "label", "required": False, "type": "string"}
    assert json.loads(known["sft.table"].schema) == {"mlflow_colspec": [column]}
    assert json.loads(known["sft.table"].profile) == {"num_rows": 1}
    assert known["sft.scores"].schema is None


def test_shards_have_the_columns_that_they_were_written_with(
    project: Path, experiment: str, tmp_path: Path
) -> None:
    def ingest() -> Any:
        return iter([pa.table({"report": ["clear"]}), pa.table({"report": ["effusion"]})])

    data = DataCatalog({"corpus": ArrowShards(str(tmp_path / "shards"))})
    run_kedro(
        pipeline([node(ingest, None, "corpus", tags="stage.ingest")]), data, context(project, experiment)
    )
    ((written,),) = (run.inputs.dataset_inputs for run in recorded(project, experiment))
    assert json.loads(written.dataset.schema)["mlflow_colspec"][0]["name"] == "report"
    assert json.loads(written.dataset.profile) == {"num_rows": 2}


def test_tracking_off_records_nothing_and_steps_go_nowhere(
    experiment: str, catalog: Callable[..., DataCatalog], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "off")
    run_kedro(study("sft"), catalog("sft"), context(tmp_path, experiment))
    assert (tmp_path / "sft.csv").is_file()
    assert not (tmp_path / "mlflow.db").exists()
    assert not (tmp_path / "mlartifacts").exists()


def test_how_trainings_are_run_is_handed_on_and_is_no_parameter_of_the_run(
    project: Path, catalog: Callable[..., DataCatalog]
) -> None:
    hooks, made = TrackingHooks(), catalog("sft")
    own = context(project, None)
    own.params["compute"] = {"processes": 2}
    hooks.after_context_created(own)
    hooks.after_catalog_created(made)
    own_engine = {"python": None, "gpu_memory": 0.9, "cpu_cache": 1, "timeout": 1800.0}
    plain = {"config": None, "command": None, "engine": "local", "workers": 1, "frozen_start": "device"}
    assert made.load("compute") == {"processes": 2, "vllm": own_engine} | plain


def test_records_of_an_experiment_in_a_copy_go_to_the_real_project(
    project: Path,
    experiment: str,
    catalog: Callable[..., DataCatalog],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DVC_ROOT", str(project))
    monkeypatch.setenv("DVC_EXP_NAME", "hazy-film")
    run_kedro(study("sft"), catalog("sft"), context(tmp_path / "copy", experiment))
    assert {run.data.tags["dvc.exp_name"] for run in recorded(project, experiment)} == {"hazy-film"}
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize(
    ("env", "said"),
    [
        (None, "params.yaml is"),
        (
            "smoke",
            "params.yaml, as conf/smoke/parameters.yml and conf/smoke/parameters_lengths.yml changes it, is",
        ),
    ],
)
def test_wrong_parameters_are_refused_before_anything_loads(root: Path, env: str | None, said: str) -> None:
    context = SimpleNamespace(params={"sed": 0}, project_path=root, env=env)
    with pytest.raises(ParamsError, match=rf"(?s)^{re.escape(said)} not valid.*sed: no such key"):
        ProjectHooks().after_context_created(context)


def test_scores_of_other_systems_that_are_not_there_are_refused_before_any_stage(
    root: Path, tmp_path: Path
) -> None:
    params = yaml.safe_load((root / "params.yaml").read_text())
    catalog = DataCatalog({"systems": Folder(str(tmp_path))})
    refuses = ProjectHooks()
    refuses.after_context_created(SimpleNamespace(params=params, project_path=root, env=None))
    refuses.after_catalog_created(catalog)
    params["compare"]["systems"] = {"MAIRA": "maira.json"}
    refuses.after_context_created(SimpleNamespace(params=params, project_path=root, env=None))
    with pytest.raises(ParamsError, match=r"compare\.systems\.MAIRA: .* has no 'maira\.json'"):
        refuses.after_catalog_created(catalog)


@pytest.mark.parametrize(
    ("option", "good", "asked", "message"),
    [
        ("namespaces", ["grpo"], "gropo", "no such arm; did you mean 'grpo'? Arms: base, sft, grpo"),
        ("namespaces", ["grpo"], "x", "no such arm. Arms: base"),
        ("pipelines", ["eval"], "evla", "no such stage; did you mean 'eval'? Stages: ingest, labeler"),
        ("pipeline", "eval", "evla", "no such stage; did you mean 'eval'? Stages: ingest, labeler"),
    ],
)
def test_arms_and_stages_that_there_are_none_of_are_refused_with_those_there_are(
    root: Path, option: str, good: str | list[str], asked: str, message: str
) -> None:
    import click
    from kedro.framework.startup import bootstrap_project

    bootstrap_project(root)
    params = yaml.safe_load((root / "params.yaml").read_text())
    context = SimpleNamespace(params=params, project_path=root, env=None)
    command = click.Context(click.Command("run"))
    command.params = {option: good}
    with command:
        ProjectHooks().after_context_created(context)
        command.params = {option: asked if isinstance(good, str) else [*good, asked]}
        with pytest.raises(ParamsError) as caught:
            ProjectHooks().after_context_created(context)
    assert str(caught.value).startswith(f"--{option}={asked}: {message}")


def test_pictures_and_cards_of_the_comparison_are_in_the_arms_runs(
    project: Path, experiment: str, catalog: Callable[..., DataCatalog], tmp_path: Path
) -> None:
    def draw(sft: Any, grpo: Any) -> Any:
        def cards(folder: Path) -> None:
            for arm in ("sft", "grpo"):
                (folder / f"{arm}.md").write_text(f"card of {arm}")

        return "picture", cards

    data = catalog("sft", "grpo")
    data["figure"] = JSONDataset(filepath=str(tmp_path / "figure.json"), metadata={"mlflow_arms": "table"})
    data["cards"] = Folder(str(tmp_path / "cards"), metadata={"mlflow_arms": "table"})
    compare = node(draw, ["sft.table", "grpo.table"], ["figure", "cards"], tags="stage.compare", name="draw")
    run_kedro(study("sft", "grpo"), data, context(project, experiment))
    (tmp_path / "sft.csv").write_text("label\nanother\n")  # as when another record has the run that wrote it
    run_kedro(Pipeline([compare]), data, context(project, experiment))
    client = MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    kept = {
        run.data.tags["mlflow.runName"]: [
            entry.path for entry in client.list_artifacts(run.info.run_id, "comparison")
        ]
        for run in recorded(project, experiment, "tags.arm LIKE '%'")
    }
    whole = ["comparison/figure.json", "comparison/grpo.md"]
    assert kept == {"eval grpo": whole, "eval sft": [], "train grpo": [], "train sft": []}


@pytest.mark.parametrize(("source", "kept"), [("phantom", True), ("mimic_cxr", False), ("csv", False)])
def test_rollouts_are_in_the_record_where_films_are_drawn_alone(
    project: Path,
    experiment: str,
    catalog: Callable[..., DataCatalog],
    tmp_path: Path,
    source: str,
    kept: bool,
) -> None:
    import pandas as pd

    live = tmp_path / "rollouts.html"
    live.write_text("while it trains")

    def learn(observers: Any) -> Any:
        *_, page = observers({"start": "sft"}, dict)
        if page.keep is not None:
            page.keep(live)
        return pd.DataFrame({"output": ["The heart is enlarged."], "rollout": [3], "reward": [0.5]})

    def draw(rollouts: Any) -> Any:
        return lambda folder: (folder / "sft.html").write_text("in the end")

    data = catalog("sft")
    data["sft.table"].metadata = {"mlflow": "table of drawn films"}
    shown = {"mlflow": "artifact of drawn films", "mlflow_arms": "table"}
    data["pages"] = Folder(str(tmp_path / "pages"), metadata=shown)
    train = pipeline(
        [node(learn, OBSERVERS, "table", name="learn", tags="stage.train")],
        namespace="sft",
        inputs={OBSERVERS},
    )
    stages = train + Pipeline([node(draw, "sft.table", "pages", name="draw", tags="stage.compare")])
    own = context(project, f"{experiment} {source}")
    own.params = PARAMS | {"ingest": {"source": source}}
    run_kedro(stages, data, own)
    client = MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    compared, trained = recorded(project, f"{experiment} {source}")
    files = {
        run.data.tags["stage"]: {
            entry.path
            for folder in ("", "comparison", "pages")
            for entry in client.list_artifacts(run.info.run_id, folder)
            if not entry.is_dir
        }
        for run in (compared, trained)
    }
    if not kept:
        assert files == {"compare": set(), "train": set()}
        return
    assert files == {
        "compare": {"pages/sft.html"},
        "train": {"rollouts.html", "table.json", "comparison/sft.html"},
    }
    table = json.loads(Path(client.download_artifacts(trained.info.run_id, "table.json")).read_text())
    assert table == {
        "columns": ["output", "rollout", "reward"],
        "data": [["The heart is enlarged.", 3, 0.5]],
    }


def test_what_is_there_is_read_when_it_is_asked_for(tmp_path: Path) -> None:
    names = ("ddsampling_summary", "selection_summary")
    catalog = DataCatalog({name: JSONDataset(filepath=str(tmp_path / name)) for name in names})
    SelectedHooks().after_catalog_created(catalog)
    read = catalog[SELECTED].load()
    assert read(*names) == {}
    catalog["selection_summary"].save({"full": 1})
    assert read(*names) == {"selection_summary": {"full": 1}}
    assert read("ddsampling_summary") == {}


@pytest.mark.parametrize(
    ("saved", "stage", "said"),
    [
        (["labels", PAGE, "cards"], None, ["the page: data/smoke/page.html"]),
        (["labels"], None, []),
        ([PAGE], "compare", []),  # `radrl repro` says it at its own end
    ],
)
def test_the_page_is_named_where_the_run_wrote_it(
    saved: list[str],
    stage: str | None,
    said: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.delenv("DVC_STAGE", raising=False)
    if stage:
        monkeypatch.setenv("DVC_STAGE", stage)
    hooks = LastWordHooks()
    hooks.after_context_created(SimpleNamespace(project_path=tmp_path))
    hooks.after_catalog_created(DataCatalog({PAGE: HtmlPage(str(tmp_path / "data/smoke/page.html"))}))
    for name in saved:
        hooks.after_dataset_saved(name)
    with caplog.at_level(logging.INFO, logger="radrl"):
        hooks.after_pipeline_run()
    assert [record.getMessage() for record in caplog.records] == said


@pytest.mark.parametrize(
    ("there", "makes", "saved", "said"),
    [
        (True, "comparison_page", [], True),
        (False, "comparison_page", [], False),
        (True, "labels", [], False),  # who runs the first stages alone waits for no page
        (True, "comparison_page", [PAGE], False),
    ],
)
def test_a_failed_run_says_that_the_page_is_not_its_own(
    there: bool,
    makes: str,
    saved: list[str],
    said: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.delenv("DVC_STAGE", raising=False)
    page = tmp_path / "data/page.html"
    page.parent.mkdir()
    if there:
        page.touch()
        written = datetime(2026, 11, 23, 18, 20).timestamp()
        os.utime(page, (written, written))
    hooks = LastWordHooks()
    hooks.after_context_created(SimpleNamespace(project_path=tmp_path))
    hooks.after_catalog_created(DataCatalog({PAGE: HtmlPage(str(page))}))
    for name in saved:
        hooks.after_dataset_saved(name)
    hooks.on_pipeline_error(pipeline([node(lambda corpus: corpus, "corpus", makes)]))
    expected = "the page data/page.html is of an earlier run, of 23 November, 18:20, not of this one"
    assert [record.getMessage() for record in caplog.records] == [expected] * said
