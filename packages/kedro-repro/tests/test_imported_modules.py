"""Which files are a module's code, found without importing anything."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kedro_repro import imported_modules as imports
from kedro_repro.imported_modules import closure, imported

FILES = {
    "clinic/__init__.py": "raise RuntimeError('nothing is imported to find out')\n",
    "clinic/reading.py": "from . import words\nfrom .deep.inner import thing\nimport json\n",
    "clinic/words.py": "import clinic.other as o\n",
    "clinic/other.py": "def late():\n    from clinic import lazy\n",
    "clinic/lazy.py": "",
    "clinic/deep/__init__.py": "from ..apart import x\n",
    "clinic/deep/inner.py": "thing = 1\n",
    "clinic/apart.py": "x = 1\n",
    "clinic/unread.py": "",
    "clinic/typed.py": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from clinic import unread\n"
        "else:\n    import clinic.lazy\n"
    ),
    "single.py": "import clinic.words\n",
}


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    imports._spec.cache_clear()
    yield tmp_path
    imports._spec.cache_clear()


@pytest.mark.parametrize(
    ("start", "packages", "found"),
    [
        ("clinic.lazy", {"clinic"}, "clinic clinic.lazy"),
        ("clinic.other", {"clinic"}, "clinic clinic.lazy clinic.other"),
        (
            "clinic.reading",
            {"clinic"},
            "clinic clinic.apart clinic.deep clinic.deep.inner clinic.lazy clinic.other clinic.reading "
            "clinic.words",
        ),
        ("clinic.typed", {"clinic"}, "clinic clinic.lazy clinic.typed"),
        ("single", {"single"}, "single"),
        ("single", {"single", "clinic"}, "clinic clinic.lazy clinic.other clinic.words single"),
    ],
)
def test_closure(clinic: Path, start: str, packages: set[str], found: str) -> None:
    files = closure([start], packages)
    assert sorted(files) == found.split()
    assert "clinic" not in sys.modules
    assert all(file.is_relative_to(clinic) for file in files.values())


def test_missing_module_is_named(clinic: Path) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"there is no module clinic\.reding"):
        closure(["clinic.reding"], {"clinic"})


def test_relative_imports_start_where_python_has_them_start() -> None:
    tree = ast.parse("from . import a\nfrom .b import c\nfrom .. import d")
    assert imported(tree, "x.y.z", is_package=False) == ["x.y", "x.y.a", "x.y.b", "x.y.b.c", "x", "x.d"]
    assert imported(tree, "x.y.z", is_package=True) == [
        "x.y.z",
        "x.y.z.a",
        "x.y.z.b",
        "x.y.z.b.c",
        "x.y",
        "x.y.d",
    ]
