"""Rollouts to look at, as the stage train leaves them, and that the training does not know of them."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.dataset as ds
import pytest
from small_arms import Letters, train_inputs, train_stage_with_rollouts

from radrl.training.reinforcement import arm as arms
from radrl.training.reinforcement import grpo
from radrl.training.watching import rollouts
from radrl.training.watching.progress import PAGE, observers
from radrl.training.watching.rollouts import read_rows, table

WATCH = {"every": 0, "films": 1, "metric": "mccs", "patience": None, "keep": "last"}


@pytest.fixture
def inputs(
    small: dict[str, Any],
    make_corpus: Callable[..., ds.Dataset],
    policy_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> dict[str, Any]:
    """A training of four updates, with two films each, that notes rollouts every third."""
    from radrl.rewards.base import Part, RewardSum

    monkeypatch.setattr(
        arms, "build_reward", lambda *_, **__: RewardSum([Part(Letters(), weight=2.0), Part(Length(), 1.0)])
    )
    own = train_inputs(small, make_corpus(["train", "test"], studies=12), policy_folder, tmp_path)
    watch = WATCH | {"rollouts": {"every": 3, "groups": 1}}
    return own | {"training": own["training"] | {"watch": watch}}


class Length(Letters):
    name, steps, scale = "length", 1, 1

    def __call__(self, reports: Any, references: Any, sample_ids: Any) -> list[float]:
        return [len(report) / 100 for report in reports]


def test_rows_are_of_the_rollouts_that_the_updates_were_made_from(
    inputs: dict[str, Any], silent: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    class Noting(grpo.ReportGRPOTrainer):
        def _calculate_rewards(self, *given: Any) -> Any:
            scores = super()._calculate_rewards(*given)
            seen.append((self.written, scores.double().numpy()))
            return scores

    monkeypatch.setattr(grpo, "ReportGRPOTrainer", Noting)
    _, curve, noted = train_stage_with_rollouts(**inputs, step_report=silent)
    assert noted["update"].unique().tolist() == [1, 3, 4]
    size = len(noted) // 6
    for update, rows in noted.groupby("update"):
        written, scores = seen[update - 1]
        totals = 2 * scores[:, 0] + scores[:, 1]
        means = totals.reshape(2, size).mean(axis=1)
        assert curve["reward"][update - 1] == pytest.approx(totals.mean(), abs=1e-6)
        best, worst = (rows[rows["group"] == name] for name in ("best 1", "worst 1"))
        first = int(means.argmax())
        for own, number in ((best, first), (worst, 1 - first)):
            part = slice(number * size, (number + 1) * size)
            assert own["output"].tolist() == list(written.outputs[part])
            assert own["sample_id"].unique().tolist() == [written.sample_ids[part.start]]
            assert own["reward"].tolist() == pytest.approx(totals[part].tolist())
            assert own["rewards/letters"].tolist() == scores[part, 0].tolist()
        assert best["reward"].mean() >= worst["reward"].mean()


def test_a_training_that_notes_rollouts_has_the_bytes_of_one_that_does_not(
    inputs: dict[str, Any], written: Callable[[Any], dict[str, bytes]], silent: Any, tmp_path: Path
) -> None:
    writer, curve, noted = train_stage_with_rollouts(**inputs, step_report=silent)
    blind = inputs | {"workspace": tmp_path / "blind", "training": inputs["training"] | {"watch": None}}
    other, other_curve, none = train_stage_with_rollouts(**blind, step_report=silent)
    assert written(writer) == written(other)
    assert curve.equals(other_curve)
    assert (len(noted) > 0, len(none)) == (True, 0)


@pytest.mark.parametrize("step", [2, 3])
def test_killed_and_run_again_has_the_rows_of_one_that_never_stopped(
    inputs: dict[str, Any], killed: Any, silent: Any, tmp_path: Path, step: int
) -> None:
    _, _, noted = train_stage_with_rollouts(**inputs, step_report=silent)
    there = inputs | {"workspace": tmp_path / "killed"}
    killed(train_stage_with_rollouts, step, **there)
    # of update 3 rows may be there that the last checkpoint, of update 2, does not know of
    file = tmp_path / "killed" / rollouts.ROWS
    stale = {**read_rows(tmp_path / "killed")[0], "update": 3, "output": "of a run that was killed"}
    with file.open("a") as stream:
        stream.write(json.dumps(stale) + "\n")
    _, _, resumed = train_stage_with_rollouts(**there, step_report=silent)
    pd.testing.assert_frame_equal(resumed, noted)


def test_an_arm_that_does_not_train_has_a_table_without_rows(inputs: dict[str, Any], silent: Any) -> None:
    arm = {"start": "base", "selection": "full"}
    *_, none = train_stage_with_rollouts(**inputs | {"arm": arm}, step_report=silent)
    assert none.equals(table([]))


def test_the_page_is_drawn_anew_after_each_look_and_said_and_kept(
    inputs: dict[str, Any], silent: Any, caplog: pytest.LogCaptureFixture
) -> None:
    kept: list[tuple[str, str]] = []

    def keep(page: Path) -> None:
        kept.append((page.name, page.read_text()))

    with caplog.at_level(logging.INFO, logger="radrl.training.watching.progress"):
        _, _, noted = train_stage_with_rollouts(
            **inputs, step_report=silent, observers=lambda arm, pictures: observers(arm, pictures, keep)
        )
    assert [name for name, _ in kept] == [PAGE] * 3
    assert [text.count('<section class="look"') for _, text in kept] == [1, 2, 3]
    last = kept[-1][1]
    assert last.count('src="data:image/png;base64,') == 6  # three looks at the best and the worst film
    assert all(name in last for name in noted["sample_id"])
    assert "may not be passed on" in " ".join(last.split())
    said = [line for line in caplog.messages if "rollouts to look at" in line]
    assert said == [f"rollouts to look at, drawn anew as training goes on: {inputs['workspace'] / PAGE}"]
