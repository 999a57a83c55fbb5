"""The order of experiments, failures and resumption, with a runner that only pretends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from kedro_repro.programs import duration
from radrl.studies.execution import (
    COMPARISON,
    MASKING,
    Experiment,
    StudyError,
    collect,
    experiments,
    run_all,
)


class Pretended:
    """Writes a comparison, or fails where it is told to; notes what it was asked for."""

    def __init__(self, failing: tuple[str, ...] = ()) -> None:
        self.failing, self.asked, self.ended = failing, list[str](), threading.Event()

    def __call__(self, experiment: Experiment) -> int:
        self.asked.append(experiment.title)
        if experiment.title in self.failing:
            with experiment.log.open("a") as log:
                log.write("".join(f"line {i}\n" for i in range(30)) + "no space left\n")
            return 1
        target = experiment.clone / COMPARISON
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f"arm,kind,metric,value\nsft,arm,f1,{experiment.seed}\n")
        return 0

    def stop(self) -> None:
        self.ended.set()


@pytest.fixture
def planned(tmp_path: Path) -> list[Experiment]:
    return experiments(
        {"few": {"seed": 9, "threads": 1}, "many": {"seed": 9, "threads": 2}}, [3, 4], tmp_path
    )


@pytest.fixture
def start(planned: list[Experiment]) -> Callable[..., list[str]]:
    def run(runner: Pretended, *, jobs: int = 1) -> list[str]:
        said: list[str] = []
        run_all(planned, runner, prepare=lambda one: None, say=said.append, jobs=jobs)
        return said

    return run


def test_a_seeds_runs_follow_one_another(planned: list[Experiment], tmp_path: Path) -> None:
    assert [one.title for one in planned] == [
        "few, seed 3",
        "many, seed 3",
        "few, seed 4",
        "many, seed 4",
    ]
    assert planned[1].params == {"seed": 3, "threads": 2}
    assert planned[1].clone == tmp_path / "many-seed-3"
    assert planned[1].log == tmp_path / "many-seed-3.log"
    assert experiments({"": {}}, [0], tmp_path)[0].clone == tmp_path / "seed-0"


@pytest.mark.parametrize("jobs", [1, 2])
def test_all_are_run_and_said(start: Callable[..., list[str]], planned: list[Experiment], jobs: int) -> None:
    runner = Pretended()
    said = start(runner, jobs=jobs)
    assert sorted(runner.asked) == sorted(one.title for one in planned)
    done = [line for line in said if "done in" in line]
    assert [line.split("]")[0] for line in done] == ["[1/4", "[2/4", "[3/4", "[4/4"]
    assert not runner.ended.is_set()
    assert collect(planned, COMPARISON)[["run", "seed", "value"]].to_numpy().tolist() == [
        ["few", 3, 3],
        ["many", 3, 3],
        ["few", 4, 4],
        ["many", 4, 4],
    ]


def test_a_failure_stops_the_study_and_says_how_to_go_on(start: Callable[..., list[str]]) -> None:
    runner = Pretended(failing=("many, seed 3",))
    with pytest.raises(StudyError, match="no space left") as failed:
        start(runner)
    said = str(failed.value)
    assert "many, seed 3: `radrl repro` in" in said
    assert "line 29" in said
    assert "line 5\n" not in said  # the end alone
    assert "start the study again" in said
    assert runner.asked == ["few, seed 3", "many, seed 3"]


def test_a_failed_stage_is_named_with_the_end_of_its_own_log(
    start: Callable[..., list[str]], tmp_path: Path
) -> None:
    own = tmp_path / "few-seed-3" / "build" / "train@grpo.log"
    ended = f"the stage train@grpo ended with -9; the end of {own}"

    class Failing(Pretended):
        def __call__(self, experiment: Experiment) -> int:
            own.parent.mkdir(parents=True)
            own.write_text("no film left\n")
            with experiment.log.open("a") as log:
                log.write(f"Error: {ended}:\n    cut\nMend that\n")
            return 1

    with pytest.raises(StudyError) as failed:
        start(Failing())
    said = str(failed.value)
    assert said.startswith(f"few, seed 3: {ended}:\n    no film left\n")
    assert said.count("Mend that") == 1
    # the next start fails in another way: what is said of it is its own
    with pytest.raises(StudyError, match=r"`radrl repro` in .* ended with 1(?s:.*)no space left"):
        start(Pretended(failing=("few, seed 3",)))


def test_started_again_it_asks_for_all_and_ends_well(start: Callable[..., list[str]]) -> None:
    with pytest.raises(StudyError):
        start(Pretended(failing=("few, seed 4",)))
    runner = Pretended()  # DVC decides what is finished, so that it is asked
    start(runner)
    assert len(runner.asked) == 4


def test_success_without_a_comparison_is_a_failure(start: Callable[..., list[str]]) -> None:
    class Idle(Pretended):
        def __call__(self, experiment: Experiment) -> int:
            experiment.log.write_text("nothing to do\n")
            return 0

    with pytest.raises(StudyError, match="nothing to do"):
        start(Idle())


def test_success_without_one_of_the_stage_s_tables_is_a_failure(tmp_path: Path) -> None:
    class Half(Pretended):
        def __call__(self, experiment: Experiment) -> int:
            (experiment.clone / MASKING).parent.mkdir(parents=True)
            (experiment.clone / MASKING).touch()
            experiment.log.write_text("no rewards\n")
            return super().__call__(experiment)

    given = experiments({"": {}}, [3], tmp_path, "analyses")
    with pytest.raises(StudyError, match="no rewards"):
        run_all(given, Half(), prepare=lambda one: None, say=lambda line: None)


def test_one_failing_ends_the_others(start: Callable[..., list[str]]) -> None:
    class Waiting(Pretended):
        def __call__(self, experiment: Experiment) -> int:
            if experiment.seed == 4:
                assert self.ended.wait(timeout=20)
                return -15
            return super().__call__(experiment)

    runner = Waiting(failing=("few, seed 3",))
    with pytest.raises(StudyError, match="few, seed 3"):
        start(runner, jobs=2)


def test_an_interrupt_ends_what_runs(planned: list[Experiment]) -> None:
    runner = Pretended()

    def interrupted(line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_all(planned, runner, prepare=lambda one: None, say=interrupted)
    assert runner.ended.is_set()


@pytest.mark.parametrize(
    ("seconds", "said"), [(8.4, "8 s"), (61, "1 min 1 s"), (3600, "1 h 0 min"), (7325, "2 h 2 min")]
)
def test_times_are_said_as_one_says_them(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_experiments_whose_films_have_a_seed_of_their_own_share_them(tmp_path: Path) -> None:
    runs = {"own": {"ingest": {"source": "phantom"}}, "shared": {"ingest": {"source": "phantom", "seed": 20}}}
    planned = experiments(runs, [3, 4], tmp_path)
    assert [one.shares_films for one in planned] == [False, True, False, True]
    for one in planned:
        Pretended()(one)
    table = collect(planned, COMPARISON)
    assert table.groupby("run")["shared_films"].all().to_dict() == {"own": False, "shared": True}
