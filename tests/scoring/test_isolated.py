import os
import socket
import sys
from pathlib import Path

import pytest

from radrl.process.importing import SWITCHES
from radrl.scoring import ScoringError
from radrl.scoring.isolated import Worker, digest_of

SPEAK = """
import json, os, sys, time
def say(kind, value):
    print(json.dumps({kind: value}), flush=True)
"""
ECHO = """
request = json.loads(sys.stdin.readline())
say("about", {"version": "1"})
for number in reversed(range(len(request["texts"]))):
    say("alive", "still there")
    say("answer", [number, request["texts"][number].upper()])
say("done", True)
"""


@pytest.fixture
def ask(tmp_path):
    """Ask a worker made of the given lines about three texts."""

    def ask(lines, *, texts=("a", "b", "c"), prelude=SPEAK, **settings):
        script = tmp_path / "worker.py"
        script.write_text(prelude + lines)
        settings = {"python": None, "timeout": 30.0} | settings
        return Worker(script, name="family", **settings).ask({"texts": texts}, len(texts), "texts")

    return ask


def test_answers_come_in_the_order_of_the_request(ask):
    reply = ask(ECHO)
    assert reply.answers == ["A", "B", "C"]
    assert reply.about == {"version": "1"}


def test_what_fills_a_pipe_stops_nobody(ask):
    flood = 'sys.stderr.write("e" * 300_000)\n'
    texts = ["w " * 100_000, "é😀\n", ""]
    assert ask(flood + ECHO, texts=texts).answers == [text.upper() for text in texts]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('say("answer", [0, 1])\nsys.exit(3)', "ended with status 3 after 1 of 3"),
        ("os.kill(os.getpid(), 9)", r"killed by signal 9 \(no memory left\?\) after 0 of 3"),
        ('print("Loading weights")', "printed b'Loading weights.n', which is no message"),
        ('say("answer", 7)', "no message"),
        ('say("about", "me")', "no message"),
        ('say("idle", 7)', "no message"),
        ('print("[1, 2]")', "no message"),
        ('say("answer", [0, 1]); say("answer", [2, 1]); say("done", True)', "answered 2 of 3 items"),
        ('[say("answer", [i, 1]) for i in (0, 1, 7)]; say("done", True)', "answered 3 of 3 items"),
        ('[say("answer", [i, 1]) for i in (0, 1, 1)]; say("done", True)', "answered 2 of 3 items"),
        ('say("error", "finds no weights")', "family: the worker finds no weights"),
        ("1 / 0", "ended with status 1 after 0 of 3"),
    ],
)  # fmt: skip
def test_no_partial_answer_is_taken_for_a_whole_one(ask, lines, message):
    with pytest.raises(ScoringError, match=message):
        ask(lines)


def test_the_workers_last_words_are_in_the_error(ask):
    with pytest.raises(ScoringError, match="ZeroDivisionError") as error:
        ask('[print("line", i, file=sys.stderr) for i in range(100)]\n1 / 0')
    assert "line 99\n" in str(error.value)
    assert "line 3\n" not in str(error.value)


def test_a_worker_that_never_reads_a_long_request_is_no_deadlock(ask):
    with pytest.raises(ScoringError, match="ended with status 5"):
        ask("sys.exit(5)", texts=["w " * 1_000_000])


def test_a_hung_worker_is_ended(ask, tmp_path):
    with pytest.raises(ScoringError, match=r"said nothing for 0\.5 seconds"):
        ask(f'open({str(tmp_path / "pid")!r}, "w").write(str(os.getpid()))\ntime.sleep(600)', timeout=0.5)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_signs_of_life_are_no_silence(ask):
    slow = 'for _ in range(8): time.sleep(0.2); say("alive", "slow")\n'
    assert ask(slow + ECHO, timeout=1.0).answers == ["A", "B", "C"]


def test_the_worker_is_told_to_stay_offline_whatever_the_user_set(ask, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    reply = ask(
        'say("answer", [0, dict(os.environ)]); say("done", True)', texts=["a"], variables={"EXTRA": "x"}
    )
    found = reply.answers[0]
    assert {name: found[name] for name in SWITCHES} == {
        name: switch.value for name, switch in SWITCHES.items()
    }
    assert found["EXTRA"] == "x"
    assert found["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] == "1"
    assert "PYTHONHOME" not in found


def test_nothing_is_left_on_disk(ask, tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    ask(ECHO, folder=folder, variables={"TMPDIR": str(folder), "HOME": str(folder)})
    assert not list(folder.iterdir())


@pytest.mark.parametrize("python", ["absent/bin/python", "."])
def test_a_missing_interpreter_is_named_with_the_mend(python):
    with pytest.raises(ScoringError, match=r"family: no interpreter at .*make scorers"):
        Worker(Path("worker.py"), name="family", python=Path(python))


def test_an_interpreter_that_is_none(ask, tmp_path):
    python = tmp_path / "python"
    python.write_text("")
    python.chmod(0o755)
    with pytest.raises(ScoringError, match="does not start"):
        ask(ECHO, python=python)


def test_a_links_environment_is_kept(ask, tmp_path):
    link = tmp_path / "python"
    link.symlink_to(sys.executable)
    reply = ask('say("answer", [0, sys.executable]); say("done", True)', python=link, texts=["a"])
    assert reply.answers == [str(link)]


CHANNEL = "from channel import *\nimport os\n"


def test_what_a_package_prints_is_no_answer(ask):
    lines = """
def work(request, channel):
    print("Using device: cpu")
    os.system("echo noise")
    channel.answer(0, "quiet")
serve(work)
"""
    assert ask(lines, prelude=CHANNEL, texts=["a"]).answers == ["quiet"]


@pytest.mark.parametrize(
    "call",
    [
        "socket.create_connection(('127.0.0.1', PORT), timeout=5)",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', PORT))",
        "urllib.request.urlopen('http://127.0.0.1:PORT/', timeout=5)",
        "socket.gethostbyname('localhost')",
    ],
)
def test_a_worker_reaches_no_network(ask, call):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.0)
        call = call.replace("PORT", str(server.getsockname()[1]))
        lines = f"import socket, urllib.request\ndef work(request, channel):\n    {call}\nserve(work)"
        with pytest.raises(ScoringError, match="a worker has no network"):
            ask(lines, prelude=CHANNEL)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_pipes_between_a_workers_own_processes_stay(ask, tmp_path):
    lines = """
import socket
def work(request, channel):
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind("pipe"); server.listen(); client.connect("pipe")
        channel.answer(0, "joined")
serve(work)
"""
    assert ask(lines, prelude=CHANNEL, texts=["a"], folder=tmp_path).answers == ["joined"]


def test_a_digest_is_of_names_and_bytes(tmp_path):
    for name, text in {"a": "1", "b": "1", "c": "2"}.items():
        (tmp_path / name).write_text(text)
    a, b, c = (tmp_path / name for name in "abc")
    digests = {digest_of(files) for files in ([a], [b], [c], [a, b], [b, a], [a, c])}
    assert len(digests) == 6
