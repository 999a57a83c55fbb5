"""How the warm server is started and ended, with a program that only pretends to be one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from kedro_repro import fork_server_process
from kedro_repro.fork_server_process import pays, server
from kedro_repro.project import Params, Project


class Forking(Project):
    def may_fork(self, params: Params) -> bool:
        return bool(params["forks"])


PROGRAM = """\
#!/bin/sh
# python -m kedro_repro.fork_server ADDRESS
echo "$2 in $(pwd) with $WHO"
case $WHO in broken) exit 3;; esac
printenv PYTHONPATH > "$TOLD/path"
ls /proc/$$/fd > "$TOLD/held"
ps -o sid= -p $$ > "$TOLD/session"
touch "$3"
cat > /dev/null
touch "$TOLD/ended"
"""


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the program writes what it was started with."""
    program = tmp_path / "python"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setenv("PYTHONPATH", "before")
    monkeypatch.setenv("TOLD", str(tmp_path))
    return tmp_path


def test_server_is_of_the_project_and_ends_with_the_block(told: Path) -> None:
    (told / "project").mkdir()
    reading, writing = os.pipe()
    with server(told / "project", held=(writing,), WHO="it") as found:
        assert (told / "path").read_text() == f"{told / 'project/src'}:before\n"
        assert str(writing) in (told / "held").read_text().split()
        assert str(reading) not in (told / "held").read_text().split()
        assert (told / "session").read_text().strip() == str(found.pid)  # a Ctrl-C does not reach it
        assert Path(found.address).exists()
        assert found.variables["KEDRO_REPRO_FORK_SERVER"] == found.address
        assert found.variables["WHO"] == "it"
        assert found.variables["PATH"].split(":")[0] == str(found.commands)
        assert (found.commands / "kedro").is_file()
        assert not (told / "ended").exists()
    assert (told / "ended").exists()
    assert not found.commands.parent.exists()
    os.close(reading)
    os.close(writing)


def test_server_that_does_not_start_is_quoted(told: Path) -> None:
    with (
        pytest.raises(RuntimeError, match=rf"did not start:\nkedro_repro.fork_server in {told} with broken"),
        server(told, WHO="broken"),
    ):
        pytest.fail("it did not start")


@pytest.mark.parametrize(
    ("chosen", "params", "worth"),
    [
        ({"a", "b", "c"}, {"forks": True}, True),
        ({"a", "b"}, {"forks": True}, False),
        ({"a", "b", "c"}, {"forks": False}, False),
    ],
)
def test_server_is_for_three_stages_and_more_where_the_project_may_fork(
    chosen: set[str], params: dict[str, bool], worth: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    own = Forking(Path(), {})
    assert pays(own, chosen, params) == worth
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not pays(own, chosen, params)


def test_servers_of_one_project_do_not_take_one_anothers_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fork_server_process.tempfile, "tempdir", str(tmp_path))
    left = tmp_path / f"kedro-repro.{os.getuid()}.{2**22 + 1}.killed"  # above every number of a process
    left.mkdir()
    with fork_server_process.socket_folder() as one, fork_server_process.socket_folder() as other:
        assert one != other
        assert sorted(tmp_path.iterdir()) == sorted([one, other])
    assert list(tmp_path.iterdir()) == []
