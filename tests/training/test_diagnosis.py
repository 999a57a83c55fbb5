"""What a history says: every finding by a made-up run that has it, and a sound run that has none."""

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
from hypothesis import given
from hypothesis import strategies as st
from tqdm import tqdm

from radrl.training.diagnosis import SEVERITIES, Finding, NotFinite, diagnose, require_finite
from radrl.training.spoken import Bar, Diagnosis

SOUND = {
    "loss": 0.002, "grad_norm": 0.3, "kl": 0.08, "entropy": 0.8, "reward": 0.4,
    "completions/clipped_ratio": 0.02, "groups/zero_variance_share": 0.2, "groups/all_zero_share": 0.1,
}  # fmt: skip
LOOK = {
    "watch/ce_rules_sample14_f1": 0.4, "watch/ce_rules_macro14_f1": 0.1, "watch/ce_rules_micro14_f1": 0.35,
    "watch/repetition": 0.002, "watch/most_common_share": 0.15, "watch/like_normal_share": 0.3,
    "watch/like_normal_share_of_references": 0.28, "watch/findings_per_report": 0.6,
    "watch/findings_per_reference": 1.4,
}  # fmt: skip
Change = Callable[[float], dict[str, float]]
"""Of a share of the run that is done, what differs from a sound one."""


def run(change: Change = lambda share: {}, *, steps: int = 40, every: int = 10) -> list[dict[str, float]]:
    """A history, its watched films among its rows."""
    looks = [step for step in range(steps + 1) if step % every == 0]
    rows: list[dict[str, float]] = []
    for step in range(steps + 1):
        own = SOUND | LOOK | change(step / steps)
        kept = [k for k in own if (step if not k.startswith("watch/") else step in looks)]
        rows.append({"step": step} | {k: own[k] for k in kept})
    return rows


def line(name: str, first: float, last: float) -> Change:
    return lambda share: {name: first + share * (last - first)}


def both(*changes: Change) -> Change:
    return lambda share: {k: v for change in changes for k, v in change(share).items()}


CLIMB = line("reward", 0.4, 0.6)


def named(rows: Sequence[dict[str, float]]) -> dict[str, Finding]:
    return {finding.name: finding for finding in diagnose(rows)}


def test_sound_run_has_nothing_to_say() -> None:
    rng = random.Random(0)
    assert diagnose(run(lambda _: {"reward": rng.gauss(0.4, 0.1), "loss": rng.gauss(0, 0.001)})) == []
    assert diagnose([]) == []


def test_reward_that_climbs_with_the_watched_f1_is_no_hacking() -> None:
    assert diagnose(run(both(CLIMB, line("watch/ce_rules_macro14_f1", 0.1, 0.3)))) == []


EQUAL = {"groups/zero_variance_share": 1.0}


def late(values: dict[str, float], since: float = 0.9) -> Change:
    return lambda share: values if share >= since else {}


CUT = {"completions/clipped_ratio": 0.5}
CANNOT_LEARN: dict[str, tuple[Change, str, str, tuple[int, int], str]] = {
    "all 0": (
        late(EQUAL | {"groups/all_zero_share": 1.0}), "no_variance_all_zero", "stop", (36, 40), "its oracle",
    ),
    "all 0 under an oracle": (
        late(EQUAL | {"groups/all_zero_share": 1.0, "oracle/pairs": 8.0}),
        "oracle_alone", "note", (36, 40), "raise its w_max",
    ),
    "all equal": (
        late(EQUAL | {"groups/all_zero_share": 0.0}), "no_variance_all_equal", "stop", (36, 40), "too alike",
    ),
    "most equal": (
        late({"groups/zero_variance_share": 0.85}, 0), "little_variance", "warning", (31, 40), "85%",
    ),
    "no gradient": (
        late({"loss": 0.0, "grad_norm": 0.0}), "no_gradient", "stop", (36, 40), "training.lora.targets",
    ),
    "cut off": (late(CUT, 0), "truncated", "warning", (31, 40), "Raise training.max_new_tokens"),
    "cut off later": (late(CUT, 0.5), "truncated", "warning", (31, 40), "raise training.kl"),
    "collapse": (line("entropy", 0.8, 0.0), "entropy_collapse", "warning", (31, 40), "0.690 to 0.090"),
    "decay": (line("entropy", 0.8, 1.6), "entropy_rise", "warning", (31, 40), "The language decays"),
    "far": (line("kl", 0, 1), "kl_blow_up", "warning", (31, 40), "0.89 nats"),
}  # fmt: skip


class TestCannotLearn:
    @pytest.mark.parametrize("case", CANNOT_LEARN)
    def test_it_is_named_with_steps_and_mend(self, case: str) -> None:
        change, name, severity, steps, said = CANNOT_LEARN[case]
        (finding,) = diagnose(run(change))
        assert (finding.name, finding.severity) == (name, severity)
        assert (finding.first, finding.last) == steps
        assert said in str(finding)
        assert str(finding).startswith(f"{name} ({severity}, steps {steps[0]} to {steps[1]}): ")

    def test_four_steps_are_no_streak(self) -> None:
        assert diagnose(run(late(EQUAL, 0.92))) == []

    def test_streak_that_ended_by_itself_is_a_note(self) -> None:
        found = named(run(lambda share: EQUAL if 0.2 <= share < 0.5 else {}))
        assert found["no_variance_all_equal"].severity == "note"
        assert (found["no_variance_all_equal"].first, found["no_variance_all_equal"].last) == (8, 19)

    def test_no_gradient_for_want_of_variance_sends_there(self) -> None:
        found = named(run(late(EQUAL | {"loss": 0.0, "grad_norm": 0.0})))
        assert {*found} == {"no_variance_all_equal", "no_gradient"}
        assert "groups have no variance" in found["no_gradient"].mend

    def test_gradient_of_a_loss_that_is_0_is_a_gradient(self) -> None:
        assert diagnose(run(late({"loss": 0.0}, 0))) == []

    def test_gravest_comes_first(self) -> None:
        found = diagnose(run(both(late(EQUAL), line("kl", 0, 1))))
        assert [SEVERITIES.index(finding.severity) for finding in found] == [0, 1]


HACKING: dict[str, tuple[Change, str]] = {
    "hacking_repetition": (line("watch/repetition", 0.0, 0.4), "0% to 35%"),
    "hacking_one_report": (line("watch/most_common_share", 0.2, 0.84), "20% to 76%"),
    "hacking_normal_report": (line("watch/like_normal_share", 0.3, 0.9), "82% of the watched"),
    "hacking_every_label": (line("watch/findings_per_report", 1.0, 9.0), "1.00 to 8.00 a report"),
    "hacking_falling_f1": (line("watch/ce_rules_sample14_f1", 0.4, 0.3), "sample F1 from 0.400 to 0.312"),
}


class TestHacking:
    @pytest.mark.parametrize("name", HACKING)
    def test_reward_that_climbs_with_it_is_flagged(self, name: str) -> None:
        change, said = HACKING[name]
        (finding,) = diagnose(run(both(CLIMB, change)))
        assert (finding.name, finding.severity) == (name, "warning")
        # of 40 steps the first and the last 13: 0.4 + 0.2 * 7 / 40 and 0.4 + 0.2 * 34 / 40
        assert "reward climbed from 0.435 to 0.570" in finding.says
        assert said in finding.says
        assert diagnose(run(change)) == []  # without the climb

    def test_it_is_a_note_where_the_watched_f1_climbs_too(self) -> None:
        same = line("watch/most_common_share", 0.2, 0.8)
        (finding,) = diagnose(run(both(CLIMB, same, line("watch/ce_rules_macro14_f1", 0.1, 0.3))))
        assert finding.severity == "note"
        assert "watched macro F1 0.100 to 0.275" in finding.says

    def test_constant_normal_report_is_flagged_though_the_reward_stands(self) -> None:
        change = both(
            late({"watch/like_normal_share_of_references": 0.65}, 0), line("watch/like_normal_share", 0.97, 1)
        )
        (finding,) = diagnose(run(change))
        assert (finding.name, finding.first, finding.last) == ("constant_normal_report", 0, 40)
        assert "97% at first, 65% of the references" in finding.says

    def test_normal_reports_of_normal_films_are_right(self) -> None:
        normal = {"watch/like_normal_share_of_references": 0.95, "watch/like_normal_share": 0.97}
        assert diagnose(run(both(CLIMB, late(normal, 0)))) == []

    def test_more_findings_up_to_the_references_are_right(self) -> None:
        assert diagnose(run(both(CLIMB, line("watch/findings_per_report", 0.2, 1.4)))) == []

    def test_climb_within_the_noise_is_none(self) -> None:
        rng = random.Random(1)
        noisy = run(lambda share: {"reward": 0.4 + 0.01 * share + rng.gauss(0, 0.1)})
        repeating = [row | ({"watch/repetition": 0.9} if row["step"] == 40 else {}) for row in noisy]
        assert diagnose(repeating) == []

    def test_step_of_a_phase_is_no_climb(self) -> None:
        def phase(share: float) -> dict[str, float]:
            on = float(share >= 0.5)
            parts = {"rewards/ce_f1/mean": 0.4, "rewards/bleu2/mean": 0.2, "rewards/bleu2/weight": on}
            return parts | {"reward": 0.4 + 0.2 * on}

        same = line("watch/most_common_share", 0.2, 0.8)
        assert diagnose(run(both(phase, same))) == []
        (finding,) = diagnose(run(both(phase, same, line("rewards/ce_f1/mean", 0.2, 0.5))))
        assert finding.says.startswith("rewards/ce_f1/mean climbed")

    def test_nothing_is_said_unwatched(self) -> None:
        blind = [{k: v for k, v in row.items() if not k.startswith("watch/")} for row in run(CLIMB)]
        assert diagnose(blind) == []


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


@pytest.mark.parametrize("name", ["loss", "grad_norm", "kl"])
@pytest.mark.parametrize("value", [math.nan, math.inf, None])  # TRL writes None for a NaN
def test_number_that_is_none_stops(name: str, value: Any) -> None:
    with pytest.raises(NotFinite, match=rf"{name} is (nan|inf) at step 7: .*Lower training\.learning_rate"):
        require_finite({"step": 7, "loss": 0.1, name: value})
    require_finite({"step": 7, "loss": 0.1})


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
