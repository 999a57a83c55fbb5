"""What a history says: of a sound run nothing, of others the same each time, and no more while they train."""

from __future__ import annotations

import csv
import io
import logging
import math
import random
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from histories import CLIMB, EQUAL, LOOK, SOUND, Change, both, late, line, run
from hypothesis import given
from hypothesis import strategies as st
from tqdm import tqdm

from radrl.training.watching.diagnosis import SEVERITIES, diagnose
from radrl.training.watching.mends import Mend, either, start
from radrl.training.watching.progress import Bar, Diagnosis


def test_sound_run_has_nothing_to_say() -> None:
    rng = random.Random(0)
    assert diagnose(run(lambda _: {"reward": rng.gauss(0.4, 0.1), "loss": rng.gauss(0, 0.001)})) == []
    assert diagnose([]) == []


def test_gravest_comes_first() -> None:
    found = diagnose(run(both(late(EQUAL), line("kl", 0, 1))))
    assert [SEVERITIES.index(finding.severity) for finding in found] == [0, 1]


def test_mend_without_an_option_left_says_something() -> None:
    assert Mend(options=(start("sft"),)).for_arm({"start": "sft"}) == "Lower training.learning_rate."


@pytest.mark.parametrize(
    ("texts", "joined"), [(["a"], "a"), (["a", "b"], "a, or b"), (["a", "b", "c"], "a, b, or c")]
)
def test_options_are_joined(texts: list[str], joined: str) -> None:
    assert either(texts) == joined


CHANGES: dict[str, Change] = {
    "hacked": both(CLIMB, line("watch/repetition", 0.0, 0.4)),
    "equal": late(EQUAL),
    "far": line("kl", 0, 1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_csv_says_the_same(change: str) -> None:
    rows = run(CHANGES[change])
    columns = sorted(set().union(*rows))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns)
    writer.writeheader()
    writer.writerows(rows)
    read = csv.DictReader(io.StringIO(text.getvalue()))
    gaps = [{k: float(v) if v else math.nan for k, v in row.items()} for row in read]
    assert diagnose(gaps) == diagnose(rows) != []
    assert diagnose(reversed(gaps)) == diagnose(rows)


values = st.none() | st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 1.0]) | st.floats(-1e9, 1e9)


@given(st.lists(st.fixed_dictionaries(dict.fromkeys([*SOUND, *LOOK], values)), max_size=60))
def test_every_history_has_an_answer(rows: list[dict[str, Any]]) -> None:
    found = diagnose([{"step": i} | row for i, row in enumerate(rows)])
    assert all(finding.says and finding.mend and 0 <= finding.first <= finding.last for finding in found)
    assert len({finding.name for finding in found}) == len(found)


def test_infinite_loss_is_found_in_a_csv() -> None:
    (finding,) = (one for one in diagnose(run(late({"loss": math.inf}, 1))) if one.name == "not_finite")
    assert (finding.severity, finding.first) == ("stop", 40)


class TestWhileTraining:
    @pytest.fixture
    def train(self, caplog: pytest.LogCaptureFixture) -> Callable[..., list[str]]:
        def told(rows: Sequence[dict[str, float]], *, known: int = 0, end: bool = True) -> list[str]:
            caplog.set_level(logging.INFO)
            caplog.clear()
            callback = Diagnosis()
            state: Any = SimpleNamespace(is_world_process_zero=True, log_history=list(rows[:known]))
            for row in rows[known:]:
                state.log_history.append(row)
                state.global_step = row["step"]
                callback.on_log(None, state, None, logs=row)  # type: ignore[arg-type]
            if end:
                callback.on_train_end(None, state, None)  # type: ignore[arg-type]
            return [record.getMessage() for record in caplog.records]

        return told

    def test_finding_is_told_once_with_its_step_and_named_at_the_end(self, train: Any) -> None:
        messages = train(run(line("kl", 0, 1.5)))
        assert [message.split(":")[0] for message in messages] == [
            "step 20",
            "training ended with kl_blow_up (warning)",
        ]

    def test_sound_run_says_nothing(self, train: Any) -> None:
        assert train(run()) == []

    def test_what_begins_after_the_last_look_is_told_at_the_end(self, train: Any) -> None:
        messages = train(run(late(EQUAL, 0.8), steps=27))
        assert messages[0].startswith("step 27: no_variance_all_equal (stop")

    def test_that_it_still_rises_is_told_when_it_has_ended(self, train: Any) -> None:
        messages = train(run(line("watch/ce_rules_sample14_f1", 0.4, 0.6), every=3))
        assert [message.split(":")[0] for message in messages] == [
            "step 40",
            "training ended with still_rising (note)",
        ]

    def test_bar_stays_whole(self, train: Any, capsys: pytest.CaptureFixture[str]) -> None:
        handler = logging.StreamHandler()
        logging.getLogger().addHandler(handler)
        try:
            with tqdm(total=3) as bar:
                bar.update(1)
                train(run(line("kl", 0, 1.5)))
        finally:
            logging.getLogger().removeHandler(handler)
        written = capsys.readouterr().err
        # tqdm clears its line before the message and draws it anew after it
        assert all(
            "it/s" not in part and "%|" not in part
            for part in written.split("\r")
            if "kl_blow_up" in part and "step 20" in part
        )
        assert "step 20: kl_blow_up" in written

    def test_arm_is_not_told_to_take_what_it_has(self, caplog: pytest.LogCaptureFixture) -> None:
        rows = run(both(CLIMB, line("watch/like_normal_share", 0.3, 0.9)))
        state: Any = SimpleNamespace(is_world_process_zero=True, log_history=rows, global_step=40)
        Diagnosis({"reward": {"mccs": {}}}).on_train_end(None, state, None)  # type: ignore[arg-type]
        assert "hacking_normal_report" in caplog.text
        assert "reward.mccs" not in caplog.text

    def test_other_processes_are_silent(self, caplog: pytest.LogCaptureFixture) -> None:
        state: Any = SimpleNamespace(
            is_world_process_zero=False, log_history=run(late(EQUAL)), global_step=40
        )
        Diagnosis().on_train_end(None, state, None)  # type: ignore[arg-type]
        assert caplog.records == []


def test_bar_shows_a_few_numbers_and_no_line_a_step(capsys: pytest.CaptureFixture[str]) -> None:
    state: Any = SimpleNamespace(is_world_process_zero=True, max_steps=3, global_step=1)
    bar = Bar()
    bar.on_train_begin(None, state, None)  # type: ignore[arg-type]
    bar.on_log(None, state, None, logs={"reward": 0.25, "kl": 0.1, "loss": 7.0, "watch/repetition": 0.5})  # type: ignore[arg-type]
    bar.on_log(None, state, None, logs={"train_runtime": 3.0})  # type: ignore[arg-type]
    bar.on_train_end(None, state, None)  # type: ignore[arg-type]
    written = capsys.readouterr()
    assert "reward=0.250, kl=0.100" in written.err
    assert "loss" not in written.err + written.out
    assert "\n{" not in written.err
