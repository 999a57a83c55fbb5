"""A stage that DVC started does not end as if what was changed meanwhile had run."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from kedro.pipeline import node, pipeline

from radrl.provenance import started
from radrl.provenance.code import CODE_FILE, digests
from radrl.provenance.started import ChangedMeanwhile, begin
from radrl.provenance.values import MISSING, read_params, value
from radrl.wiring.lock_hooks import LockHooks

ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """params.yaml and the digests that the stage `code` writes."""
    shutil.copy(ROOT / "params.yaml", tmp_path)
    (tmp_path / CODE_FILE).parent.mkdir(parents=True)
    (tmp_path / CODE_FILE).write_text(yaml.safe_dump(digests(read_params(ROOT))))
    return tmp_path


@pytest.fixture
def change(project: Path) -> Callable[..., None]:
    """Set keys of the project's params.yaml."""

    def to(**values: Any) -> None:
        params = read_params(project)
        for key, new in values.items():
            *above, last = key.split("__")
            section = params
            for part in above:
                section = section[part]
            section[last] = new
        (project / "params.yaml").write_text(yaml.safe_dump(params))

    return to


@pytest.fixture
def hooks(project: Path, monkeypatch: pytest.MonkeyPatch) -> LockHooks:
    """Those of a stage that DVC has just started."""
    monkeypatch.setenv("DVC_STAGE", "train@grpo")
    made = LockHooks(project)
    inputs = ["params:arms.grpo", "params:training", "params:policy.dtype", "params:seed", "corpus"]
    made.before_pipeline_run(pipeline([node(lambda *_: None, inputs, "policy", name="train")]))
    return made


def test_nothing_changed_is_no_reason_to_refuse(hooks: LockHooks, change: Any) -> None:
    change(eval__max_report_words=7)  # no parameter of this stage
    change(arms__deer__selection="random")
    hooks.before_dataset_saved()
    hooks.after_pipeline_run()
    change(arms__grpo__selection="random")
    with pytest.raises(ChangedMeanwhile):
        hooks.after_pipeline_run()


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"seed": 3}, "seed"),
        ({"training__steps": 2, "policy__dtype": "bfloat16"}, "policy.dtype, training"),
        ({"arms__grpo__reward": {"bleu2": {"weight": 1.0}}}, "arms.grpo"),
        ({"arms": {}}, "arms.grpo"),
    ],
)
def test_changed_parameters_are_named(
    hooks: LockHooks, change: Any, changes: dict[str, Any], named: str
) -> None:
    change(**changes)
    for look in (hooks.before_dataset_saved, hooks.after_pipeline_run):
        with pytest.raises(
            ChangedMeanwhile, match=rf"params\.yaml was changed while train@grpo ran: {named}\. The stage"
        ):
            look()


def test_put_back_is_as_never_changed(hooks: LockHooks, change: Any) -> None:
    change(seed=3)
    with pytest.raises(ChangedMeanwhile):
        hooks.after_pipeline_run()
    change(seed=0)
    hooks.after_pipeline_run()


def test_outside_of_dvc_nobody_looks(project: Path, change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DVC_STAGE", raising=False)
    hooks = LockHooks(project)
    hooks.before_pipeline_run(pipeline([node(lambda seed: seed, "params:seed", "x", name="n")]))
    change(seed=3)
    hooks.after_pipeline_run()


def test_code_that_changes_meanwhile_is_refused(hooks: LockHooks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(started, "digest_of", lambda stage, params, arm: "another")
    with pytest.raises(ChangedMeanwhile, match="the code of train@grpo was changed while it ran"):
        hooks.after_pipeline_run()


def test_digests_written_anew_for_other_code_are_refused(hooks: LockHooks, project: Path) -> None:
    """As when somebody edits the code and asks `radrl repro --dry-run` while the stage runs."""
    written = yaml.safe_load((project / CODE_FILE).read_text())
    written["train"]["grpo"] = "another"
    (project / CODE_FILE).write_text(yaml.safe_dump(written))
    with pytest.raises(ChangedMeanwhile, match="the code of train@grpo was changed while it ran"):
        hooks.before_dataset_saved()


@pytest.mark.parametrize("written", ["train: {grpo: another}", "train: {deer: other}", "{}"])
def test_stage_that_is_not_what_dvc_looked_at_does_not_start(project: Path, written: str) -> None:
    (project / CODE_FILE).write_text(written)
    with pytest.raises(ChangedMeanwhile, match=r"the code of train@grpo is not what .*code\.yaml says"):
        start(project, "train@grpo", read_params(project), [])


def test_value_of_a_key_that_is_not_there() -> None:
    assert value({"a": {"b": None}}, "a.b") is None
    assert value({"a": {"b": 1}}, "a.c") is MISSING
    assert value({"a": 1}, "a.b") is MISSING
