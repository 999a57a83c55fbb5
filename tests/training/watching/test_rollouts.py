"""Rollouts to look at: which groups are noted, and what a row says."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from radrl.evaluation.label_agreement import VERDICTS, finding_verdicts
from radrl.labelers.rules.labeler import RulesLabeler
from radrl.observations import INDEX, OBSERVATIONS, POSITIVE, UNCERTAIN
from radrl.training.watching import rollouts
from radrl.training.watching.progress import RolloutsPage
from radrl.training.watching.rollouts import (
    Drawn,
    RolloutWatch,
    WatchingRollouts,
    extremes,
    read_rows,
    rows_of_update,
    table,
)

NAN = float("nan")


def labels(**given: int) -> list[int]:
    found = [0] * len(OBSERVATIONS)
    for name, value in given.items():
        found[INDEX[name.replace("_", " ")]] = value
    return found


def test_verdicts_by_hand() -> None:
    truth = labels(Edema=POSITIVE, Fracture=POSITIVE, Pneumonia=UNCERTAIN, Atelectasis=UNCERTAIN)
    report = labels(Edema=POSITIVE, Cardiomegaly=POSITIVE, Pneumonia=POSITIVE, Atelectasis=UNCERTAIN)
    assert finding_verdicts(truth, report) == {
        "Cardiomegaly": "wrong",
        "Edema": "right",
        "Pneumonia": "hedged",
        "Atelectasis": "right",
        "Fracture": "missed",
    }


@pytest.mark.parametrize(
    ("totals", "each", "found"),
    [
        # means 0.5, 0.05, 0.5, 0.8; of the two equal ones the first is the better one
        ([[0.5, 0.5], [0, 0.1], [1, 0], [1, 0.6]], 2, {"best 1": 3, "best 2": 0, "worst 1": 1, "worst 2": 2}),
        # three groups, two of either: the middle one is the second best, and no group is both
        ([[0.1], [0.2], [0.3]], 2, {"best 1": 2, "best 2": 1, "worst 1": 0}),
        ([[0.4, 0.2]], 1, {"best 1": 0}),
        # a missing reward does not count in the mean (0.9 against 0.8); without any a group is the worst
        ([[NAN, NAN], [0.9, NAN], [0.8, 0.8]], 1, {"best 1": 1, "worst 1": 0}),
        ([[0.0], [-1.0], [NAN]], 1, {"best 1": 0, "worst 1": 2}),
    ],
)
def test_best_and_worst_groups_by_hand(totals: list[list[float]], each: int, found: dict[str, int]) -> None:
    assert extremes(np.array(totals), each) == found


EDEMA, HEART = "Pulmonary edema is present.", "The heart is enlarged."


@pytest.fixture
def drawn() -> Drawn:
    """Two films of two rollouts, whose reward is part one + 2 * part two."""
    scores = np.array([[[0.0, 0.0], [0.5, NAN]], [[1.0, 0.25], [1.0, 0.5]]])
    totals = np.array([[0.0, 0.5], [1.5, 2.0]])
    outputs = [["", EDEMA], [HEART, f"{HEART} {EDEMA}"]]
    return Drawn(["a", "b"], [EDEMA, HEART], outputs, scores, totals)


WATCH = RolloutWatch(RulesLabeler(), every=4, groups=1, prompts={"a": "Prior: none.", "b": "Prior: edema."})


def test_rows_by_hand(drawn: Drawn) -> None:
    rows = rows_of_update(7, drawn, WATCH, parts=["one", "two"], form="plain")
    assert [(row["group"], row["sample_id"], row["rollout"]) for row in rows] == [
        ("best 1", "b", 0),
        ("best 1", "b", 1),
        ("worst 1", "a", 0),
        ("worst 1", "a", 1),
    ]
    assert rows[1] == {
        "update": 7,
        "group": "best 1",
        "sample_id": "b",
        "rollout": 1,
        "reward": 2.0,
        "rewards/one": 1.0,
        "rewards/two": 0.5,
        "prompt": "Prior: edema.",
        "output": f"{HEART} {EDEMA}",
        "reference": HEART,
        "right": "Cardiomegaly",
        "hedged": "",
        "missed": "",
        "wrong": "Edema",
    }
    assert (rows[2]["missed"], rows[2]["output"], rows[2]["right"]) == ("Edema", "", "")
    assert rows[3]["rewards/two"] is None  # a score that there is not is no 0


def test_findings_are_those_of_the_report_within_an_output(drawn: Drawn) -> None:
    thought = f"<think>{HEART}</think><report>{EDEMA}</report>"
    own = Drawn(["a"], [EDEMA], [[thought]], np.ones((1, 1, 1)), np.ones((1, 1)))
    (row,) = rows_of_update(1, own, WATCH, parts=["one"], form="think_report")
    assert (row["output"], row["right"], row["wrong"]) == (thought, "Edema", "")


def test_no_finding_has_in_its_name_what_joins_them() -> None:
    assert not [name for name in OBSERVATIONS if rollouts.JOINT in name]


def test_a_table_has_its_columns_and_types_whatever_the_rows(drawn: Drawn) -> None:
    rows = rows_of_update(1, drawn, WATCH, parts=["two", "one"], form="plain")
    found, empty = table(rows), table([])
    assert [name for name in found if not name.startswith("rewards/")] == list(empty)
    assert [name for name in found if name.startswith("rewards/")] == ["rewards/one", "rewards/two"]
    without = table([{**row, "reward": None} for row in rows])["reward"]
    assert (without.dtype, without.isna().all()) == (np.float64, True)
    assert found.dtypes[list(empty)].equals(empty.dtypes)


@pytest.mark.parametrize(
    ("update", "stops", "looked"), [(1, False, True), (2, False, False), (2, True, True), (5, False, True)]
)
def test_the_update_by_which_a_training_ends_early_is_looked_at(
    drawn: Drawn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, update: int, stops: bool, looked: bool
) -> None:
    monkeypatch.setattr(rollouts, "last_drawn", lambda trainer: drawn)
    parts = [SimpleNamespace(name="one"), SimpleNamespace(name="two")]
    trainer = SimpleNamespace(reward=SimpleNamespace(parts=parts, output="plain"))
    watch = WatchingRollouts(WATCH, trainer)
    state = SimpleNamespace(is_world_process_zero=True, global_step=update, max_steps=5)
    control = SimpleNamespace(should_training_stop=stops)
    watch.on_log(SimpleNamespace(output_dir=str(tmp_path)), state, control, {"loss": 1.0})  # type: ignore[arg-type]
    assert {row["update"] for row in read_rows(tmp_path)} == ({update} if looked else set())


def test_a_page_without_rows_is_not_drawn(tmp_path: Path) -> None:
    class State:
        is_world_process_zero, global_step = True, 1

    args = type("Args", (), {"output_dir": str(tmp_path)})
    page = RolloutsPage(partial(pytest.fail, "no film is read"))  # type: ignore[arg-type]
    page.on_log(args, State, None, {"loss": 1.0})  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_every_verdict_is_a_column() -> None:
    assert set(VERDICTS) < set(table([]))
