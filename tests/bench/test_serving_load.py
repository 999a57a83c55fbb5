"""The servers under load, bad requests among it: short here, and 500 requests each in `make test-slow`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from serving_load.load import Answered, Asked


@pytest.mark.parametrize("requests", [60, pytest.param(500, marks=pytest.mark.slow)])
def test_good_ones_are_answered_and_bad_ones_get_a_reason(root: Path, tmp_path: Path, requests: int) -> None:
    """The bench itself ends with what is not as it has to be, and where memory grew by more than a tenth."""
    written = tmp_path / "page.md"
    options = ["--servers", "serve", "ui", "--requests", str(requests), "--write", str(written)]
    done = subprocess.run(
        [sys.executable, str(root / "bench/serving_load"), *options], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    rows = re.findall(r"^\| `radrl (\w+)` \| (\d+) \| [\d, ]+ \| (\d+) \|", written.read_text(), re.MULTILINE)
    assert rows == [("serve", str(requests + 1), "0"), ("ui", str(requests + 1), "0")]


@pytest.mark.parametrize(
    ("good", "status", "text", "fault"),
    [
        (True, 200, "{}", ""),
        (True, 400, "no film", "400 to a good request"),
        (False, 400, "no film", ""),
        (False, 400, " ", "400 without a reason"),
        (False, 200, "{}", "200"),
        (False, 500, "failed", "500"),
        (False, 0, "", "no answer"),
        (False, 400, '{"stack_trace": "..."}', "400 with a stack trace"),
    ],
)
def test_what_is_wrong_with_an_answer(good: bool, status: int, text: str, fault: str) -> None:
    assert Answered(Asked("any", good=good), status, text, 0.1).wrong() == fault


def test_a_request_that_waits_sends_its_part_alone() -> None:
    asked = Asked("half", body=b"12345678", share=0.5)
    head, *body = asked.pieces()
    assert head.startswith(b"POST /invocations HTTP/1.1\r\n")
    assert b"Content-Length: 8\r\n" in head
    assert body == [b"1234"]
    assert b"".join(Asked("long", body=b"ab", repeat=3).pieces()).endswith(b"\r\n\r\nababab")
    (part,) = Asked("head", body=b"ab", head_share=0.5).pieces()
    assert not part.endswith(b"\r\n\r\n")
