"""The order of stages, how many run at once, failures, with a runner that only pretends."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedro_repro.schedule import StageFailed, run_stages

DIAMOND = {"top": set(), "left": {"top"}, "right": {"top"}, "end": {"left", "right"}}


class Pretended:
    """Notes what ran, what was over before it, and how many ran at once; fails where it is told to."""

    def __init__(self, failing: str = "", together: int = 1) -> None:
        self.failing, self.stopped = failing, threading.Event()
        self.over: list[str] = []
        self.before: dict[str, set[str]] = {}
        self.most = 0
        self._now = 0
        self._lock = threading.Lock()
        self._met = threading.Barrier(together)

    def __call__(self, stage: str) -> None:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
            self.before[stage] = set(self.over)
        if stage in ("left", "right"):
            self._met.wait(timeout=30)
        if stage == self.failing:
            raise StageFailed(f"the stage {stage} ended with 1")
        if self.failing and stage in ("left", "right"):
            self.stopped.wait(timeout=30)
        with self._lock:
            self._now -= 1
            self.over.append(stage)

    def stop(self) -> None:
        self.stopped.set()


class Deaf:
    """Notes what is done, and forgets the rest."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def running(self, times: Mapping[str, float]) -> None:
        pass

    def done(self, stage: str, seconds: float) -> None:
        assert seconds >= 0
        self.told.append(stage)


def test_stages_that_do_not_wait_for_one_another_run_at_once() -> None:
    runner, listener = Pretended(together=2), Deaf()
    run_stages(DIAMOND, DIAMOND, runner, listener, jobs=2)
    assert runner.most == 2
    assert listener.told[0] == "top"
    assert listener.told[-1] == "end"
    assert not runner.stopped.is_set()


def test_one_job_is_one_after_another() -> None:
    runner = Pretended()
    run_stages(DIAMOND, DIAMOND, runner, Deaf(), jobs=1)
    assert runner.most == 1
    assert sorted(runner.over) == sorted(DIAMOND)


def test_the_stage_that_most_others_wait_for_goes_first() -> None:
    graph = {"side": set(), "main": set(), "next": {"main"}, "last": {"next"}}
    runner = Pretended()
    run_stages(graph, graph, runner, Deaf(), jobs=1)
    assert runner.over == ["main", "next", "side", "last"]


def test_what_is_up_to_date_is_left_alone() -> None:
    runner = Pretended()
    run_stages(DIAMOND, {"right", "end"}, runner, Deaf(), jobs=2)
    assert runner.over == ["right", "end"]


def test_nothing_to_run_is_no_error() -> None:
    runner, listener = Pretended(), Deaf()
    run_stages(DIAMOND, set(), runner, listener, jobs=2)
    assert runner.over == listener.told == []
    assert not runner.stopped.is_set()


def test_a_failure_ends_what_runs_beside_it() -> None:
    runner, listener = Pretended(failing="left", together=2), Deaf()
    with pytest.raises(StageFailed, match="the stage left ended with 1"):
        run_stages(DIAMOND, DIAMOND, runner, listener, jobs=2)
    assert runner.stopped.is_set()
    assert "end" not in runner.before
    assert listener.told == ["top"]


def test_a_signal_ends_what_runs() -> None:
    class Interrupted(Deaf):
        def running(self, times: Mapping[str, float]) -> None:
            if "left" in times:
                raise KeyboardInterrupt

    runner = Pretended(failing="nothing", together=2)
    with pytest.raises(KeyboardInterrupt):
        run_stages(DIAMOND, DIAMOND, runner, Interrupted(), jobs=2)
    assert runner.stopped.is_set()


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, set[str]]:
    """Stages, each of which waits for some of those before it."""
    names = [f"stage-{i}" for i in range(draw(st.integers(1, 8)))]
    return {
        name: set(draw(st.lists(st.sampled_from(names[:i])))) if i else set() for i, name in enumerate(names)
    }


@settings(max_examples=40, deadline=None)
@given(graphs(), st.integers(1, 4), st.data())
def test_each_stage_runs_once_and_after_all_that_it_reads(
    graph: dict[str, set[str]], jobs: int, data: st.DataObject
) -> None:
    chosen = data.draw(st.sets(st.sampled_from(sorted(graph))))
    runner = Pretended()
    run_stages(graph, chosen, runner, Deaf(), jobs=jobs)
    assert sorted(runner.over) == sorted(chosen)
    assert all(graph[stage] & chosen <= runner.before[stage] for stage in chosen)
    assert runner.most <= jobs
