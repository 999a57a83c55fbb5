"""`radrl dag`: the whole pipeline on a screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from radrl.commands import stages

ROOT = Path(__file__).parents[2]
SCREEN = 120


def test_the_shipped_pipeline_fits_a_screen_and_no_stage_is_left_out(
    radrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    lines = radrl("dag").stdout.splitlines()
    assert max(map(len, lines)) <= SCREEN
    first = {word: row for row, line in enumerate(lines) for word in line.replace("|", " ").split()}
    order = ["ingest", "labeler", "label", "selection", "ddsampling", "train", "generate", "eval", "compare"]
    assert sorted(order, key=first.__getitem__) == order
    assert {"policy", "sft", "rollouts", "ceilings", "analyses"} <= first.keys()


def test_an_arrow_that_follows_from_others_is_not_drawn() -> None:
    reads = [("b", "a"), ("c@x", "b"), ("c@y", "b"), ("c@x", "a"), ("b", "code")]
    assert stages.draw_graph(["a", "b", "c@x", "c@y", "code"], reads) == stages.draw_graph(
        ["a", "b", "c@z"], [("b", "a"), ("c@z", "b")]
    )


def test_outside_a_project_the_mend_is_named(radrl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ended = radrl("dag")
    assert ended.exit_code != 0
    assert "dvc.yaml" in ended.output
