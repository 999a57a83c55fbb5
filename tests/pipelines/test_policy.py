"""The stage policy: built here, or a pointer to local weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.dataset as ds
import pytest

from radrl import pointers
from radrl.pipelines.policy import nodes
from radrl.pipelines.policy.nodes import make_base_policy
from radrl.reports.think_report import parse
from radrl.training.resume import last_checkpoint


@pytest.fixture
def inputs(
    small: dict[str, Any], make_corpus: Callable[..., ds.Dataset], one_thread: None, tmp_path: Path
) -> dict[str, Any]:
    return {
        "corpus": make_corpus(["pretrain", "train"], studies=12),
        "settings": small["policy"],
        "image_size": small["ingest"]["image_size"],
        "prompts": small["prompts"],
        "seed": 0,
        "threads": 1,
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


def test_share_of_the_texts_has_reasoning_and_report(small: dict[str, Any]) -> None:
    frame = pd.DataFrame(
        {
            "report": [f"Report {i}." for i in range(40)],
            "impression": [None if i % 4 == 0 else f"Thought {i}." for i in range(40)],
        }
    )
    lessons = nodes._lessons(frame, small["prompts"], {"share": 0.5, "obeyed": 0.4}, seed=1)
    asked = lessons["prompt"] == small["prompts"]["think_report"]
    formed = lessons["text"] != frame["report"]
    assert (asked.sum(), formed.sum()) == (20, 8)
    assert asked[formed].all()
    for i in lessons.index[formed]:
        parsed = parse(lessons["text"][i])
        assert (parsed.think, parsed.report, parsed.faults) == (f"Thought {i}.", f"Report {i}.", ())
    again = nodes._lessons(frame, small["prompts"], {"share": 0.5, "obeyed": 0.4}, seed=1)
    pd.testing.assert_frame_equal(lessons, again)
    none = nodes._lessons(frame, small["prompts"], {"share": 0.0, "obeyed": 0.4}, seed=1)
    assert none["text"].tolist() == frame["report"].tolist()
