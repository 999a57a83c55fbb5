"""The warm server: what it forks runs, fails, and is ended as a process of its own would be."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import yaml

from kedro_repro import fork_client as warm
from kedro_repro.fork_server_process import Server, pays, server
from kedro_repro.programs import DVC, Programs
from kedro_repro.project import load

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="stages are forked on Linux alone")


@pytest.fixture(scope="module")
def running(root: Path) -> Iterator[Server]:
    with server(root) as started:
        yield started


def test_dvc_says_what_it_says_in_a_process_of_its_own(running: Server, root: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    ended = Programs(running.address).run(
        ["version", "--help"], folder=root, log=log, environment=running.variables
    )
    plain = subprocess.run([sys.executable, "-m", "dvc", "version", "--help"], capture_output=True, text=True)
    assert (ended.status, log.read_text()) == (0, plain.stdout)
    assert 0 < ended.cpu < 60


def test_kedro_is_found_in_path_and_reads_the_project_as_it_stands(running: Server, root: Path) -> None:
    command = ["sh", "-c", "kedro registry describe label"]
    done = subprocess.run(command, cwd=root, env=running.variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "label_reports" in done.stdout


def test_stages_run_the_projects_package_where_another_is_installed(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in ("__init__.py", "process", "wiring"):  # enough for a server, not for a stage
        found, copy = root / "src" / "radrl" / part, tmp_path / "radrl" / part
        copy.parent.mkdir(exist_ok=True)
        copy.symlink_to(found)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with server(root) as started:
        command = ["sh", "-c", "kedro registry describe label"]
        done = subprocess.run(command, cwd=root, env=started.variables, capture_output=True, text=True)
    assert "label_reports" in done.stdout, done.stderr


def test_a_failure_has_its_status_and_its_word(running: Server, root: Path) -> None:
    command = ["sh", "-c", "kedro run --pipelines=nosuch"]
    done = subprocess.run(command, cwd=root, env=running.variables, capture_output=True, text=True)
    assert done.returncode == 1
    assert "--pipelines=nosuch: no such stage" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def unwritten(tmp_path: Path) -> Path:
    """A file that whoever reads it waits for, since nobody ever writes it."""
    file = tmp_path / "unwritten.yml"
    os.mkfifo(file)
    return file


def waiting(
    running: Server, root: Path, unwritten: Path, stderr: int | None = None
) -> tuple[subprocess.Popen[bytes], psutil.Process]:
    """A program that waits for a file which never comes, and the process that the server forked for it."""
    before = {child.pid for child in psutil.Process(running.pid).children()}
    command = ["sh", "-c", f"exec kedro run --config={unwritten}"]
    asked = subprocess.Popen(command, cwd=root, env=running.variables, stderr=stderr)
    end = time.monotonic() + 60
    while not (new := [c for c in psutil.Process(running.pid).children() if c.pid not in before]):
        assert asked.poll() is None
        assert time.monotonic() < end, "the server has forked nothing"
        time.sleep(0.01)
    return asked, new[0]


def test_a_signal_reaches_the_forked_process_and_comes_back_as_its_end(
    running: Server, root: Path, unwritten: Path
) -> None:
    asked, forked = waiting(running, root, unwritten)
    forked.suspend()  # it can do nothing of its own before the signal is there
    time.sleep(0.3)  # until the program has its handlers
    asked.send_signal(signal.SIGTERM)
    forked.resume()
    assert asked.wait(timeout=60) == -signal.SIGTERM
    assert not forked.is_running()


def test_a_stage_that_the_system_kills_for_memory_ends_as_killed(
    running: Server, root: Path, unwritten: Path
) -> None:
    asked, forked = waiting(running, root, unwritten)
    forked.kill()
    assert asked.wait(timeout=60) == -signal.SIGKILL


def test_who_is_killed_takes_the_forked_process_along(running: Server, root: Path, unwritten: Path) -> None:
    asked, forked = waiting(running, root, unwritten)
    asked.kill()
    asked.wait()
    psutil.wait_procs([forked], timeout=60)
    assert not forked.is_running()


def test_a_server_that_is_killed_takes_its_stages_along(root: Path, unwritten: Path) -> None:
    with server(root) as started:
        asked, forked = waiting(started, root, unwritten, stderr=subprocess.PIPE)
        psutil.Process(started.pid).kill()
        psutil.wait_procs([forked], timeout=60)
        assert not forked.is_running()
        _, said = asked.communicate()
    assert asked.returncode == 1
    assert "Traceback" not in said.decode()
    assert said.decode().endswith("start again, nothing is lost\n")


def test_a_kill_of_who_started_a_server_ends_commands_at_once_and_dvc_after_them(
    root: Path, tmp_path: Path, unwritten: Path
) -> None:
    """DVC is not cut off: it says that its command failed, and ends."""
    stage = {"cmd": f"cd {root} && exec kedro run --config={unwritten}", "outs": ["out"]}
    (tmp_path / "dvc.yaml").write_text(yaml.safe_dump({"stages": {"waits": stage}}))
    subprocess.run([*DVC, "init", "--no-scm", "--quiet"], cwd=tmp_path, check=True)
    script = """if True:
        import sys
        from pathlib import Path
        from kedro_repro.programs import Programs
        from kedro_repro.fork_server_process import server
        root, project = map(Path, sys.argv[1:])
        with server(root) as warm:
            print(warm.pid, flush=True)
            given = {"folder": project, "log": project / "log", "environment": warm.variables}
            Programs(warm.address).run(["repro"], **given)"""
    command = [sys.executable, "-c", script, str(root), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        started = psutil.Process(int(starter.stdout.readline()))
        while len(forked := started.children()) < 2:  # DVC, and the command of its stage
            assert starter.poll() is None
            time.sleep(0.01)
        starter.kill()
    assert not psutil.wait_procs([started, *forked], timeout=60)[1]
    assert "failed to run" in (tmp_path / "log").read_text()


def test_a_program_that_asks_a_server_which_is_about_to_end_does_not_start(tmp_path: Path) -> None:
    """DVC may come to its command only then; started by itself it would run on unseen."""
    commands = warm.commands(tmp_path / "bin")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        listener.listen()
        asked = subprocess.Popen(
            [commands / "dvc", "version", "--help"],
            env={**os.environ, warm.ADDRESS: str(tmp_path / "socket")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        listener.accept()[0].close()
        said, error = asked.communicate()
    assert (asked.returncode, said) == (1, b"")
    assert b"Traceback" not in error


def test_without_a_server_the_program_runs_by_itself(tmp_path: Path) -> None:
    commands = warm.commands(tmp_path / "bin")
    variables = {**os.environ, warm.ADDRESS: str(tmp_path / "nobody")}
    plain = subprocess.run([sys.executable, "-m", "dvc", "version", "--help"], capture_output=True)
    asked = subprocess.run([commands / "dvc", "version", "--help"], env=variables, capture_output=True)
    assert (asked.returncode, asked.stdout) == (0, plain.stdout)


def test_a_server_is_for_several_stages_on_a_processor(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = load(root)
    assert pays(own, {"a", "b", "c"}, {"device": "cpu"})
    assert not pays(own, {"a", "b"}, {"device": "cpu"})
    assert not pays(own, {"a", "b", "c"}, {"device": "cuda"})
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not pays(own, {"a", "b", "c"}, {"device": "cpu"})


def test_a_library_that_is_missing_keeps_no_other_out(root: Path) -> None:
    script = """if True:
        import sys
        sys.modules["trl"] = sys.modules["kedro.config"] = None
        from kedro_repro import fork_server as warm
        from pathlib import Path
        from kedro_repro.project import load
        warm._import_libraries(load(Path.cwd()).fork_server)
        print("peft" in sys.modules, "kedro.runner" in sys.modules)"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout == "True True\n"
