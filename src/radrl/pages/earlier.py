"""What is said after a failed run of a page that an earlier one left."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path


def of_an_earlier_run(page: Path, root: Path) -> str:
    """Whose a page is that this run did not come to.

    Args:
        page: its file.
        root: the project's folder, from which it is named.

    Returns:
        A sentence with the time of its writing, by the machine's clock; empty where there is no page.
    """
    if not page.is_file():
        return ""
    written = datetime.fromtimestamp(page.stat().st_mtime)
    name = os.path.relpath(page, root)
    return f"the page {name} is of an earlier run, of {written:%d %B, %H:%M}, not of this one"
