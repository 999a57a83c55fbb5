"""Progress bars: live on a terminal, a line now and then in a log, none where CI runs."""

from __future__ import annotations

import os
import sys

BETWEEN = 30
"""Seconds to the first line of a bar in a log, and from one to the next: nothing is written over there."""


def apply() -> None:
    """Settle how often bars are drawn, for this process and those it starts.

    tqdm, and with it the bars of transformers and datasets, reads its defaults from the environment when it
    is first imported; this must run before. What the user has set wins: ``TQDM_DISABLE=1`` anywhere, or
    ``TQDM_DISABLE=`` to see bars where ``CI`` is set.
    """
    if os.environ.get("CI", "").lower() not in {"", "0", "false"}:
        os.environ.setdefault("TQDM_DISABLE", "1")
    elif not sys.stderr.isatty():
        os.environ.setdefault("TQDM_DELAY", str(BETWEEN))  # what is done before then has no line
        os.environ.setdefault("TQDM_MININTERVAL", str(BETWEEN))
        os.environ.setdefault("TQDM_MAXINTERVAL", str(BETWEEN))  # or its monitor draws them sooner
