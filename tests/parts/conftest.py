"""The example package, installed as a user would install it."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from radrl.parts import find

EXAMPLE = Path(__file__).parents[1] / "example_parts"


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the installed package; pip leaves its own files beside the sources, so a copy's."""
    copy, target = tmp_path_factory.mktemp("source") / "example", tmp_path_factory.mktemp("site")
    shutil.copytree(EXAMPLE, copy)
    install = [
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--no-build-isolation",
        "--target",
        target,
        copy,
    ]
    subprocess.run([sys.executable, "-m", "pip", *map(str, install)], check=True)
    return target


@pytest.fixture
def my_lab(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package can be imported and offers its parts."""
    monkeypatch.syspath_prepend(str(installed))
    importlib.invalidate_caches()
    find._installed.cache_clear()
    yield installed
    find._installed.cache_clear()
