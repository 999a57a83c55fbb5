"""The stage policy: built here, or a pointer to local weights."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from radrl.data.pretraining_seed import SeenFilms, note_on
from radrl.pipelines.policy import make_base_policy
from radrl.storage import pointers
from radrl.training.checkpoints import last_checkpoint
from radrl.training.supervised import pretraining


@pytest.fixture
def inputs(
    small: dict[str, Any], make_corpus: Callable[..., ds.Dataset], one_thread: None, tmp_path: Path
) -> dict[str, Any]:
    return {
        "corpus": make_corpus(["pretrain", "train"], studies=12),
        "settings": small["policy"],
        "source": "phantom",
        "image_size": small["ingest"]["image_size"],
        "prompts": small["prompts"],
        "seed": 0,
        "threads": 1,
        "device": "cpu",
        "workspace": tmp_path / "work",
    }


def test_local_weights_are_pointed_at(
    inputs: dict[str, Any], policy_folder: Path, tmp_path: Path, silent: Any
) -> None:
    writer, curve = make_base_policy(
        **inputs | {"settings": inputs["settings"] | {"path": str(policy_folder)}}, step_report=silent
    )
    (tmp_path / "base").mkdir()
    writer(tmp_path / "base")
    assert pointers.resolve(tmp_path / "base", stage="policy") == policy_folder
    assert (curve.columns.tolist(), len(curve)) == (["step"], 0)
    assert not inputs["workspace"].exists()


def test_local_weights_that_are_not_there_are_named(
    inputs: dict[str, Any], tmp_path: Path, silent: Any
) -> None:
    settings = inputs["settings"] | {"path": str(tmp_path / "nowhere")}
    writer, _ = make_base_policy(**inputs | {"settings": settings}, step_report=silent)
    with pytest.raises(FileNotFoundError, match=r"no policy at .*nowhere: .* set policy.path"):
        writer(tmp_path)


def test_built_policy_is_a_function_of_its_inputs(
    inputs: dict[str, Any], written: Callable[[Any], dict[str, bytes]], silent: Any
) -> None:
    writer, curve = make_base_policy(**inputs, step_report=silent)
    first = written(writer)
    assert not inputs["workspace"].exists()
    assert len(curve)
    writer, again = make_base_policy(**inputs, step_report=silent)
    assert written(writer) == first
    assert again.equals(curve)
    writer, _ = make_base_policy(**inputs | {"seed": 1}, step_report=silent)
    assert written(writer)["model.safetensors"] != first["model.safetensors"]


def test_killed_and_run_again_is_as_never_stopped(
    inputs: dict[str, Any],
    written: Callable[[Any], dict[str, bytes]],
    killed: Any,
    silent: Any,
    tmp_path: Path,
) -> None:
    writer, curve = make_base_policy(**inputs, step_report=silent)
    killed(make_base_policy, 4, **inputs | {"workspace": tmp_path / "killed"})
    assert last_checkpoint(tmp_path / "killed") == tmp_path / "killed" / "checkpoint-2"
    resumed, resumed_curve = make_base_policy(
        **inputs | {"workspace": tmp_path / "killed"}, step_report=silent
    )
    assert written(resumed) == written(writer)
    assert resumed_curve.equals(curve)


def test_only_its_own_split_is_read(
    inputs: dict[str, Any], make_corpus: Callable[..., ds.Dataset], written: Any, silent: Any
) -> None:
    first = written(make_base_policy(**inputs, step_report=silent)[0])
    alone = inputs | {"corpus": make_corpus(["pretrain"], studies=12)}
    assert written(make_base_policy(**alone, step_report=silent)[0]) == first
    with pytest.raises(ValueError, match=r"no film in split 'pretrain' \(it has train\)"):
        make_base_policy(**inputs | {"corpus": make_corpus(["train"])}, step_report=silent)


def test_films_that_the_base_was_pretrained_on_are_refused(
    inputs: dict[str, Any], policy_folder: Path, tmp_path: Path, silent: Any
) -> None:
    weights = tmp_path / "weights"
    shutil.copytree(policy_folder, weights)
    note_on(lambda _: None, source="phantom", seed=7)(weights)
    given = inputs | {"settings": inputs["settings"] | {"path": str(weights)}}
    with pytest.raises(SeenFilms, match=r"seed 7 is the one that the films of policy\.path .* another seed"):
        make_base_policy(**given | {"seed": 7}, step_report=silent)
    make_base_policy(**given | {"seed": 8}, step_report=silent)
    make_base_policy(**given | {"seed": 7, "source": "csv"}, step_report=silent)  # a seed that draws no film


def test_killed_between_looking_and_writing_does_not_look_again(
    inputs: dict[str, Any], written: Any, killed: Any, silent: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = written(make_base_policy(**inputs, step_report=silent)[0])
    killed(make_base_policy, 2, **inputs)

    def looks(*_: Any, **__: Any) -> None:
        raise AssertionError("the tower is there already")

    monkeypatch.setattr(pretraining, "learn_phrases", looks)
    assert written(make_base_policy(**inputs, step_report=silent)[0]) == whole
