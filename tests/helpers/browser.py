"""A real browser without a window: Debian's chromium, driven by playwright, and what a page did in it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HERE = {"", "127.0.0.1", "localhost"}
"""Hosts of addresses that leave no machine; file:, data: and blob: have none."""


@dataclass
class Visit:
    """A page, and what it did while it was open."""

    page: Page
    errors: list[str] = field(default_factory=list)
    """Messages of the console that are errors, and exceptions that nobody caught."""
    abroad: list[str] = field(default_factory=list)
    """Addresses on other machines that it asked for; none is answered."""
    refused: list[str] = field(default_factory=list)
    """Paths on this machine that were answered with an error."""

    def overflow(self) -> int:
        """Pixels by which the page is wider than its window."""
        wider: int = self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        return wider


def wait(address: str, seconds: float = 180.0) -> None:
    """Wait until a server answers; two busy cores take their time.

    Raises:
        OSError: when it does not.
    """
    end = time.monotonic() + seconds
    while True:
        try:
            with urlopen(address, timeout=5):
                return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.3)


@contextmanager
def started() -> Iterator[Browser]:
    """Chromium; skips the test where it, or playwright, is not installed."""
    driver = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'radrl[test]'")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("needs a browser (Debian: apt-get install chromium)")
    # a sandbox wants rights that root in a container lacks; /dev/shm is small there
    loose = ["--no-sandbox"] if os.geteuid() == 0 else []
    with driver.sync_playwright() as run:
        browser = run.chromium.launch(executable_path=program, args=[*loose, "--disable-dev-shm-usage"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def visit(browser: Browser, width: int = 1366, height: int = 900, **context: Any) -> Iterator[Visit]:
    """A page of its own context, which reaches nothing outside this machine.

    Args:
        browser: of `started`.
        width: of the window, CSS pixels.
        height: of the window, CSS pixels.
        context: further settings of playwright's `new_context`, such as color_scheme="dark".
    """
    inside = browser.new_context(viewport={"width": width, "height": height}, **context)
    one = Visit(inside.new_page())

    def judged(route: Any) -> None:
        if urlsplit(route.request.url).hostname in {None, *HERE}:
            route.continue_()
        else:
            one.abroad.append(route.request.url)
            route.abort()

    inside.route("**/*", judged)
    one.page.on("console", lambda said: one.errors.append(said.text) if said.type == "error" else None)
    one.page.on(
        "response", lambda got: one.refused.append(urlsplit(got.url).path) if got.status >= 400 else None
    )
    one.page.on("pageerror", lambda error: one.errors.append(str(error)))
    try:
        yield one
    finally:
        inside.close()
