"""How a stage is run, restored and run again, with programs that only pretend to be DVC."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kedro_repro import cpu_seconds
from kedro_repro import stage_runner as module
from kedro_repro.programs import Ended
from kedro_repro.schedule import StageFailed
from kedro_repro.stage_runner import TRIES, DvcStages

RESTORED = "Stage 'a' is cached - skipping run, checking out outputs\n"


class Pretended:
    """Writes what it is told to into the log, run after run; each costs 2 CPU seconds."""

    def __init__(self, server: str | None, held: Sequence[int]) -> None:
        self.server, self.held = server, held
        self.says = [""]
        self.status = 0
        self.ran: list[tuple[Any, ...]] = []
        self.stopped = False

    def run(self, arguments: Any, *, folder: Path, log: Path, environment: Any, append: bool) -> Ended:
        self.ran.append((arguments, folder, environment.get("WHO"), append))
        text = self.says.pop(0) if len(self.says) > 1 else self.says[0]
        log.write_text((log.read_text() if append else "") + text)
        return Ended(self.status, 2.0)

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def untrue(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is untrue after each run; nothing where the list is at its end."""
    found: list[str] = []
    monkeypatch.setattr(module, "Programs", Pretended)
    monkeypatch.setattr(
        module, "take_out", lambda root, stage: {stage: found.pop(0)} if found else {"another": "is untrue"}
    )
    monkeypatch.setattr(module, "take_away_broken", lambda root, stage: "")
    return found


def costs(project: Path) -> Path:
    return project / "data" / cpu_seconds.FOLDER


def made(project: Path, **settings: Any) -> tuple[DvcStages, Pretended]:
    runner = DvcStages(project, project / "logs/deep", **settings)
    programs: Any = runner._programs
    return runner, programs


def test_stage_alone_is_asked_for_in_the_project(untrue: list[str], tmp_path: Path) -> None:
    runner, programs = made(tmp_path)
    runner("a")
    arguments = ["--wait-for-lock", "repro", "--single-item", "a"]
    assert programs.ran == [(arguments, tmp_path, None, False)]
    assert (programs.server, programs.held) == (None, ())
    assert runner.log("a") == tmp_path / "logs/deep/a.log"
    assert not costs(tmp_path).exists()  # a restored stage has noted nothing of itself


def test_server_is_asked_with_its_variables(untrue: list[str], tmp_path: Path) -> None:
    server: Any = SimpleNamespace(address="socket", variables={"WHO": "server"})
    _, programs = found = made(tmp_path, server=server, held=(7,))
    found[0]("a")
    assert (programs.server, programs.held, programs.ran[0][2]) == ("socket", (7,), "server")


def test_failure_shows_the_end_of_the_log(untrue: list[str], tmp_path: Path) -> None:
    runner, programs = made(tmp_path)
    programs.status, programs.says = 3, ["the films are gone"]
    with pytest.raises(StageFailed, match=r"(?s)stage a ended with 3; .*    the films are gone\nMend that"):
        runner("a")


def test_untrue_record_runs_the_stage_again_behind_a_warning(untrue: list[str], tmp_path: Path) -> None:
    untrue += ["n changed"]
    runner, programs = made(tmp_path)
    programs.says = ["first\n", "second\n"]
    runner("a")
    assert [ran[-1] for ran in programs.ran] == [False, True]
    first, warning, second = runner.log("a").read_text().splitlines()
    assert (first, second) == ("first", "second")
    assert warning.endswith(" WARNING n changed")


def test_a_stage_runs_so_often_and_no_more(untrue: list[str], tmp_path: Path) -> None:
    untrue += ["n changed"] * (TRIES - 1)
    runner, programs = made(tmp_path)
    runner("a")
    assert len(programs.ran) == TRIES == 5
    untrue += ["n changed"] * TRIES
    with pytest.raises(StageFailed, match=f"^{TRIES} times"):
        runner("a")
    assert len(programs.ran) == 2 * TRIES


def test_broken_output_that_was_restored_is_made_anew(
    untrue: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(
        module, "take_away_broken", lambda root, stage: asked.append(stage) or "it was broken"
    )
    runner, programs = made(tmp_path)
    programs.says = [RESTORED, "made\n"]
    runner("a")
    assert asked == ["a"]
    assert [ran[-1] for ran in programs.ran] == [False, True]
    assert "WARNING it was broken" in runner.log("a").read_text()
    programs.says = ["run\n"]
    runner("a")
    assert asked == ["a"]  # what has run is not looked at


def test_dvcs_share_of_the_cost_is_what_the_stage_has_not_noted(
    untrue: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    untrue += ["n changed"]  # so that it runs twice
    runner, _ = made(tmp_path)

    def noted(own: float) -> dict[str, float]:
        cpu_seconds.note(costs(tmp_path), "a", {cpu_seconds.OWN: own})
        monkeypatch.setattr(module.time, "time_ns", lambda: 0)
        runner("a")
        return cpu_seconds.cost_of_stage(costs(tmp_path), "a")

    assert noted(1.5) == {"stage": 1.5, "dvc": 2.5}  # 2 x 2 s, of which it had 1.5
    assert noted(9.0) == {"stage": 9.0, "dvc": 0.0}  # DVC did not wait for all of its children
    server: Any = SimpleNamespace(address="socket", variables={})
    runner, _ = made(tmp_path, server=server)  # forks the stage, which is in no run's cost
    assert noted(1.5) == {"stage": 1.5, "dvc": 2.0}


def test_what_a_stage_noted_before_it_was_restored_is_left_alone(untrue: list[str], tmp_path: Path) -> None:
    cpu_seconds.note(costs(tmp_path), "a", {cpu_seconds.OWN: 1.0})
    made(tmp_path)[0]("a")
    assert cpu_seconds.cost_of_stage(costs(tmp_path), "a") == {"stage": 1.0}


def test_cost_of_the_digests_is_all_dvcs(untrue: list[str], tmp_path: Path) -> None:
    made(tmp_path)[0]("code")
    assert cpu_seconds.cost_of_stage(costs(tmp_path), "code") == {"dvc": 2.0}


def test_stop_is_handed_on(untrue: list[str], tmp_path: Path) -> None:
    runner, programs = made(tmp_path)
    runner.stop()
    assert programs.stopped
