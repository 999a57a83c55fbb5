"""Bars on a terminal, in a log, in CI; of the last two tqdm itself is asked, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from radrl.process import importing

COUNTS = """
from radrl.process import importing
importing.space_bars()
import time
from tqdm import tqdm
for _ in tqdm(range(4), desc="counted"):
    time.sleep(0.15)
"""


def logged(**variables: str) -> str:
    env = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith("TQDM")}
    env |= {"PYTHONPATH": os.pathsep.join(sys.path), **variables}
    command = [sys.executable, "-c", COUNTS]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stderr


def test_a_log_holds_the_end_of_what_takes_long() -> None:
    assert "counted" not in logged()
    said = logged(TQDM_DELAY="0.4", TQDM_MININTERVAL="0.4")
    assert said.count("counted") == 2  # when the delay is over, and at the end
    assert "100%" in said


def test_ci_sees_none() -> None:
    assert "counted" not in logged(CI="true")


def test_the_users_own_word_wins() -> None:
    assert "counted" in logged(CI="true", TQDM_DISABLE="", TQDM_DELAY="0")
    assert "counted" not in logged(TQDM_DISABLE="1")
    assert logged(TQDM_DELAY="0", TQDM_MININTERVAL="0.1", TQDM_MAXINTERVAL="0.1").count("counted") > 2


def test_a_terminal_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {})
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    importing.space_bars()
    assert os.environ == {}
