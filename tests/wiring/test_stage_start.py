"""A stage that DVC started does not end as if what was changed meanwhile had run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from kedro.io import DataCatalog, MemoryDataset
from kedro.pipeline import node, pipeline

from kedro_repro import stage_start as started
from kedro_repro.code_digests import CODE_FILE, digests, recorded_digests, write_digests
from kedro_repro.hooks import LockHooks
from kedro_repro.params_values import MISSING, read_params, value
from kedro_repro.project import load
from kedro_repro.run_records import notes
from kedro_repro.stage_start import ChangedMeanwhile, begin
from radrl.params.file import values

ROOT = Path(__file__).parents[2]
KEYS = ("arms.grpo", "training", "policy.dtype", "seed")
STAGE = pipeline(
    [node(lambda *_: None, [*(f"params:{key}" for key in KEYS), "corpus"], "policy", name="train")]
)


def begun(project: Path) -> LockHooks:
    """Hooks of a stage, as they are when its process has just begun."""
    made = LockHooks()
    made.begin(project)
    return made


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """params.yaml and the digests that the stage `code` writes."""
    for name in ("params.yaml", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / CODE_FILE).parent.mkdir(parents=True)
    (tmp_path / CODE_FILE).write_text(yaml.safe_dump(digests(load(ROOT), read_params(ROOT))))
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
    made = begun(project)
    made.before_pipeline_run(STAGE, catalog(project))
    return made


def catalog(project: Path) -> DataCatalog:
    """What the stage's process has read of params.yaml."""
    params = values((project / "params.yaml").read_text(), project / "params.yaml")
    return DataCatalog({f"params:{key}": MemoryDataset(value(params, key)) for key in KEYS})


def end(hooks: LockHooks, project: Path) -> None:
    """What is asked at the end of a run."""
    hooks.after_pipeline_run(STAGE, catalog(project))


def test_nothing_changed_is_no_reason_to_refuse(hooks: LockHooks, project: Path, change: Any) -> None:
    change(eval__max_report_words=7)  # no parameter of this stage
    change(arms__deer__selection="random")
    hooks.before_dataset_saved()
    end(hooks, project)
    change(arms__grpo__selection="random")
    with pytest.raises(ChangedMeanwhile):
        end(hooks, project)


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
    hooks: LockHooks, project: Path, change: Any, changes: dict[str, Any], named: str
) -> None:
    change(**changes)
    for look in (hooks.before_dataset_saved, lambda: end(hooks, project)):
        with pytest.raises(
            ChangedMeanwhile, match=rf"params\.yaml was changed while train@grpo ran: {named}\. The stage"
        ):
            look()
    assert [*notes(project)] == []


def test_put_back_is_as_never_changed(hooks: LockHooks, project: Path, change: Any) -> None:
    change(seed=3)
    with pytest.raises(ChangedMeanwhile):
        end(hooks, project)
    change(seed=0)
    end(hooks, project)


def test_values_that_were_read_while_they_were_changed_and_put_back_are_refused(
    project: Path, change: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the looks at the beginning and at the end cannot see."""
    monkeypatch.setenv("DVC_STAGE", "train@grpo")
    hooks = begun(project)
    change(seed=3, training__steps=2)
    read = catalog(project)
    change(seed=0, training__steps=read_params(ROOT)["training"]["steps"])
    with pytest.raises(ChangedMeanwhile, match=r"train@grpo has read other values .* seed, training\. "):
        hooks.before_pipeline_run(STAGE, read)


def test_numbers_that_two_readers_of_yaml_take_apart_are_no_change(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`1e-3` is a text in YAML 1.1 and a number in 1.2, by which DVC and Kedro read."""
    monkeypatch.setenv("DVC_STAGE", "train@grpo")
    text = (project / "params.yaml").read_text()
    (project / "params.yaml").write_text(text.replace("seed: 0 ", "seed: 1e-3 "))
    hooks, read = begun(project), catalog(project)
    assert read["params:seed"].load() == 0.001
    hooks.before_pipeline_run(STAGE, read)
    hooks.after_pipeline_run(STAGE, read)
    ((_, ran),) = notes(project)
    assert ran.unlike({"params": {"params.yaml": {"seed": 0.001}}}) == []
    assert ran.unlike({"params": {"params.yaml": {"seed": "1e-3"}}}) == ["seed"]


def test_outside_of_dvc_nobody_looks(project: Path, change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DVC_STAGE", raising=False)
    hooks = begun(project)
    hooks.before_pipeline_run(STAGE, DataCatalog())
    change(seed=3)
    end(hooks, project)
    assert [*notes(project)] == []


def test_code_that_changes_meanwhile_is_refused(
    hooks: LockHooks, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(started, "digest_of", lambda _, stage, params, arm: "another")
    with pytest.raises(ChangedMeanwhile, match="the code of train@grpo was changed while it ran"):
        end(hooks, project)


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
        begin(project, "train@grpo").start([])


def test_code_that_was_changed_and_put_back_while_it_was_imported_is_refused(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The digest is the same, and a file of it was written."""
    file = project / "part.py"
    file.write_text("x = 1\n")
    monkeypatch.setattr(started, "stage_code", lambda _, stage, params, arm: {"part": file})
    begun = begin(project, "train@grpo")
    begun.start([])
    os.utime(file, ns=(1, file.stat().st_mtime_ns + 1))
    with pytest.raises(ChangedMeanwhile, match="the code of train@grpo"):
        begun.start([])


def test_mark_of_a_stage_that_is_to_run_again_is_taken_away_once_it_has_begun(project: Path) -> None:
    """DVC compares the digest before, and writes it down afterwards."""
    plain = recorded_digests(project)
    marked = started.again(plain, ["train@grpo", "label", "train@gone"])
    assert marked["train"]["grpo"] == plain["train"]["grpo"] + " again"
    assert marked["train"]["deer"] == plain["train"]["deer"]
    write_digests(load(project), marked)
    begin(project, "label").start([])
    assert recorded_digests(project) == marked | {"label": plain["label"]}
    begin(project, "train@grpo").start([])
    assert recorded_digests(project) == plain


def test_value_of_a_key_that_is_not_there() -> None:
    assert value({"a": {"b": None}}, "a.b") is None
    assert value({"a": {"b": 1}}, "a.c") is MISSING
    assert value({"a": 1}, "a.b") is MISSING


@pytest.mark.parametrize("text", ["arms: [", "arms: {}\n"])
def test_params_that_cannot_be_used_are_said_later_and_keep_no_stage_from_beginning(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "params.yaml").write_text(text)
    begun = begin(tmp_path, "train@grpo")
    assert (begun.params, begun.code) == (text, {})
