"""Every pipeline by the name of its stage, and the arms as namespaces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from kedro.pipeline import Pipeline

from radrl import pipeline_registry
from radrl.pipeline_registry import register_pipelines
from radrl.pipelines.stages import APART, ONCE, PER_ARM, PER_SELECTION
from radrl.wiring.hooks import stage_of

pytestmark = pytest.mark.filterwarnings("ignore:One or more dataset names contain")

ARMS: dict[str, Any] = {
    "base": {"start": "base", "selection": "full"},
    "sft": {"start": "sft", "selection": "full"},
    "deer": {
        "start": "sft",
        "selection": "ddsampling",
        "reward": {"ce_f1": {"weight": 1.0, "uncertain_as_positive": False, "both_empty": 1.0}},
    },
    "rarely": {"start": "sft", "selection": "rare"},
}


@pytest.fixture(scope="module")
def pipelines(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Pipeline]]:
    values = yaml.safe_load((root / "params.yaml").read_text()) | {"arms": ARMS}
    values["selection"]["own"] = {"rare": {"part": "radrl.selections.random:random", "share": 0.1}}
    path = tmp_path_factory.mktemp("project") / "params.yaml"
    path.write_text(yaml.safe_dump(values))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline_registry, "PARAMS_FILE", path)
        yield register_pipelines()


def test_there_is_a_pipeline_for_every_stage_and_one_for_all(pipelines: dict[str, Pipeline]) -> None:
    assert set(pipelines) == {*ONCE, *PER_ARM, PER_SELECTION, *APART, "compare", "__default__"}
    of_the_study = {*pipelines} - {*APART, "__default__"}
    assert len(pipelines["__default__"].nodes) == sum(len(pipelines[name].nodes) for name in of_the_study)


def test_every_node_carries_its_stage(pipelines: dict[str, Pipeline]) -> None:
    for name in {*pipelines} - {"__default__"}:
        assert {stage_of(node) for node in pipelines[name].nodes} == {name}
    of_the_study = {*pipelines} - {*APART, "__default__"}
    assert {stage_of(node) for node in pipelines["__default__"].nodes} == of_the_study


@pytest.mark.parametrize("stage", PER_ARM)
def test_a_namespace_keeps_one_arm(pipelines: dict[str, Pipeline], stage: str) -> None:
    kept = pipelines[stage].filter(node_namespaces=["deer"])
    assert {node.namespace for node in kept.nodes} == {"deer"}
    assert {name.split(".")[0] for name in kept.all_outputs()} == {"deer"}


def test_eval_scores_every_arm_and_prints_them_together(pipelines: dict[str, Pipeline]) -> None:
    nodes = pipelines["eval"].nodes
    assert {node.namespace for node in nodes} == {*ARMS, None}
    (together,) = [node for node in nodes if node.namespace is None]
    assert {*together.inputs} == {f"{arm}.headline" for arm in ARMS}


def test_an_arm_starts_and_learns_from_what_it_names(pipelines: dict[str, Pipeline]) -> None:
    train = pipelines["train"]
    deer, base = (train.only_nodes_with_namespaces([arm]).inputs() for arm in ("deer", "base"))
    assert {"sft_policy", "subset_ddsampling", "params:arms.deer", "corpus", "deer.workspace"} <= deer
    assert {"base_policy", "subset_full", "params:arms.base"} <= base


def test_a_selection_of_ones_own_makes_the_subset_of_its_name(pipelines: dict[str, Pipeline]) -> None:
    (made,) = pipelines[PER_SELECTION].nodes
    assert (made.namespace, made.outputs) == ("rare", ["subset_rare"])
    assert {*made.inputs} == {"corpus", "labels", "params:selection.own.rare", "params:seed"}
    assert "subset_rare" in pipelines["train"].only_nodes_with_namespaces(["rarely"]).inputs()


@pytest.mark.parametrize("start", ["sft", "base"])
def test_the_probed_policy_is_the_one_that_params_name(
    start: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = yaml.safe_load((root / "params.yaml").read_text())
    values["ceilings"]["start"] = start
    path = tmp_path / "params.yaml"
    path.write_text(yaml.safe_dump(values))
    monkeypatch.setattr(pipeline_registry, "PARAMS_FILE", path)
    stage = register_pipelines()["ceilings"]
    assert {name for name in stage.inputs() if name.endswith("_policy")} == {"base_policy", f"{start}_policy"}


def test_stages_join_into_one_study(pipelines: dict[str, Pipeline]) -> None:
    free = {name for name in pipelines["__default__"].inputs() if not name.startswith("params:")}
    given = {
        "step_report",
        "observers",
        "compute",
        "selected",
        "published_results",
        "seeds_results",
        "systems",
    }
    assert {name for name in free if not name.endswith("workspace")} == given
    assert pipelines["compare"].inputs() >= {
        f"{arm}.{table}" for arm in ARMS for table in ("per_report", "history")
    }


def test_catalog_knows_every_dataset(root: Path, pipelines: dict[str, Pipeline]) -> None:
    from kedro.io import DataCatalog

    text = (root / "conf/base/catalog.yml").read_text().replace("${globals:data}", "data")
    catalog = DataCatalog.from_config(yaml.safe_load(text))
    named = {name for name in pipelines["__default__"].datasets() if not name.startswith("params:")}
    assert {name for name in named if name not in catalog} == {
        "step_report",
        "observers",
        "compute",
        "selected",
    }  # the hooks bring it
